. "$(dirname "$0")/lib.sh"

# As in the template of NVIDIA's DRA driver: one command after the other, no sleep. A race shows only now and then.
for _ in $(seq 10); do
  "$control" -d
  expect "first command" 50.0 "$(echo set_default_active_thread_percentage 50 | "$control")"
  ask quit
done
