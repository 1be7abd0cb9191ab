. "$(dirname "$0")/lib.sh"

# As the template of NVIDIA's DRA driver does it: one command after the other, no sleep. A race would show now and then.
for _ in $(seq 10); do
  "$control" -d
  expect "first command" 50.0 "$(echo set_default_active_thread_percentage 50 | "$control")"
  ask quit
done
