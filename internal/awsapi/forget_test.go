package awsapi

import "testing"

func TestForgetDropsTheClientsOfOneRole(t *testing.T) {
	clients, _, _ := respond(t, answer{status: 200})
	used := Target{Region: "eu-west-1", RoleARN: "arn:aws:iam::111111111111:role/used"}
	unused := Target{Region: "eu-west-1", RoleARN: "arn:aws:iam::222222222222:role/unused"}
	for _, target := range []Target{{}, used, unused} {
		clients.EC2(target)
		clients.SQS(target)
	}
	own, kept := clients.EC2(Target{}), clients.EC2(used)
	clients.Forget(unused)
	clients.Forget(Target{})
	for key := range clients.clients {
		if key.target == unused {
			t.Errorf("a client of %s is left", key.service)
		}
	}
	if _, ok := clients.targets[unused]; ok {
		t.Error("the credentials of the unused role are left")
	}
	if clients.EC2(Target{}) != own || clients.EC2(used) != kept {
		t.Error("a client that is used was created again")
	}
}
