"""vcdebug against a real kube-apiserver, etcd, vc-scheduler and vc-controller-manager: `make live`."""
