"""Large workloads: parameter studies and the labels of many texts, on this machine or on a cluster."""
