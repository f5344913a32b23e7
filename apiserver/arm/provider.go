package arm

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// providerLocations are where PowerShell may believe the service to be: Azure
// Scheduler's regions. Other locations are accepted as well.
func providerLocations() []string {
	return []string{
		"North Central US", "South Central US", "Central US", "West Central US", "East US", "East US 2", "West US", "West US 2",
		"Canada Central", "Canada East", "Brazil South", "North Europe", "West Europe", "UK South", "UK West",
		"East Asia", "Southeast Asia", "Japan East", "Japan West", "Australia East", "Australia Southeast",
		"Central India", "South India", "West India",
	}
}

// getProvider answers what Azure Resource Manager says of a resource provider.
// PowerShell asks for the locations (a shipped client).
func (*API) getProvider(_ context.Context, r *request) (*answer, error) {
	type resourceType struct {
		ResourceType string   `json:"resourceType"`
		Locations    []string `json:"locations"`
		APIVersions  []string `json:"apiVersions"`
	}
	body, err := json.Marshal(struct {
		ID                string         `json:"id"`
		Namespace         string         `json:"namespace"`
		RegistrationState string         `json:"registrationState"`
		ResourceTypes     []resourceType `json:"resourceTypes"`
	}{
		"/subscriptions/" + r.ref.Subscription + "/providers/" + job.Provider, job.Provider, "Registered",
		[]resourceType{{"jobCollections", providerLocations(), apiVersions()}},
	})
	if err != nil {
		return nil, fmt.Errorf("write provider: %w", err)
	}
	return &answer{status: http.StatusOK, body: body}, nil
}

// headResourceGroup says that a resource group exists: here every name is one
// (our decision). PowerShell asks before it creates a collection (a shipped
// client).
func (*API) headResourceGroup(context.Context, *request) (*answer, error) {
	return &answer{status: http.StatusNoContent}, nil
}
