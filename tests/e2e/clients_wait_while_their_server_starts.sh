. "$(dirname "$0")/lib.sh"
use_fakes

FAKE_SERVER=slow FAKE_SERVER_GO=$work/go "$control" -d
for i in $(seq 8); do "$client" --hold > "$work/client$i" & done
until_true "queued" says "push client to pending list" "$CUDA_MPS_LOG_DIRECTORY/control.log"
expect "status meanwhile" INITIALIZING "$(ask "get_server_status $(ask get_server_list)")"
touch "$work/go"
for i in $(seq 8); do until_true "client $i welcome" says welcome "$work/client$i"; done
expect "servers" 1 "$(ask get_server_list | wc -l)"
expect "clients" 8 "$(ask "get_client_list $(ask get_server_list)" | wc -l)"
