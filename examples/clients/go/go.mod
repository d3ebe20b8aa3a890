module example.com/rpc-client

go 1.21
