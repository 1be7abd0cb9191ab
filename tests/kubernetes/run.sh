# Runs one of the Python tests beside it; skipped where python3-grpcio is not installed.
cd "$(dirname "$0")"
python=/usr/bin/python3  # the one with Debian's packages
$python -c 'import grpc, google.protobuf' 2> /dev/null || { echo "skipped: needs python3-grpcio (./dev setup)"; exit 77; }
exec env PYTHONDONTWRITEBYTECODE=1 $python "$@"
