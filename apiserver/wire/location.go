package wire

import "strings"

// regions are the display names of Azure's regions: public, then those of its
// clouds for the US government, China and Germany.
const regions = "East US,East US 2,Central US,North Central US,South Central US,West Central US," +
	"West US,West US 2,West US 3,Canada Central,Canada East,Mexico Central," +
	"Brazil South,Brazil Southeast,Chile Central," +
	"North Europe,West Europe,UK South,UK West,France Central,France South," +
	"Germany West Central,Germany North,Switzerland North,Switzerland West," +
	"Norway East,Norway West,Sweden Central,Sweden South,Denmark East,Poland Central,Italy North," +
	"Spain Central,Austria East,Belgium Central," +
	"UAE North,UAE Central,Qatar Central,Israel Central,South Africa North,South Africa West," +
	"East Asia,Southeast Asia,Japan East,Japan West,Korea Central,Korea South," +
	"Australia East,Australia Southeast,Australia Central,Australia Central 2,New Zealand North," +
	"Central India,South India,West India,Jio India Central,Jio India West," +
	"Indonesia Central,Malaysia West,Taiwan North," +
	"Central US EUAP,East US 2 EUAP," +
	"US Gov Virginia,US Gov Iowa,US Gov Arizona,US Gov Texas,US DoD Central,US DoD East," +
	"China East,China East 2,China East 3,China North,China North 2,China North 3," +
	"Germany Central,Germany Northeast"

// location returns the display name of a region, which may come in any case and
// spacing: "West US" for westus. What is no region of Azure's stays as it is:
// whoever hosts the service names its places.
func location(s string) string {
	folded := foldRegion(s)
	for name := range strings.SplitSeq(regions, ",") {
		if foldRegion(name) == folded {
			return name
		}
	}
	return s
}

func foldRegion(s string) string {
	return strings.ToLower(strings.Join(strings.Fields(s), ""))
}
