// Renders the templates of a Helm chart with its own values, with what Helm itself is made of (text/template, sprig, YAML by
// way of JSON): Debian has these, but not Helm. For charts that use nothing else of it: no helpers, no look-ups, no subcharts.
//
//	render CHART RELEASE NAMESPACE [VALUES]
//
// VALUES is a file whose top-level keys replace the chart's.
package main

import (
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
	"github.com/ghodss/yaml"
)

func read(path string, into *map[string]interface{}) {
	text, err := os.ReadFile(path)
	if err == nil {
		err = yaml.Unmarshal(text, into)
	}
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	directory := os.Args[1]
	var chart, values map[string]interface{}
	read(filepath.Join(directory, "Chart.yaml"), &chart)
	read(filepath.Join(directory, "values.yaml"), &values)
	if len(os.Args) > 4 {
		read(os.Args[4], &values)
	}
	functions := sprig.TxtFuncMap()
	functions["toYaml"] = func(value interface{}) string {
		text, err := yaml.Marshal(value)
		if err != nil {
			return ""
		}
		return strings.TrimSuffix(string(text), "\n")
	}
	data := map[string]interface{}{
		"Values":  values,
		"Chart":   chart,
		"Release": map[string]interface{}{"Name": os.Args[2], "Namespace": os.Args[3], "Service": "Helm"},
	}
	files, err := filepath.Glob(filepath.Join(directory, "templates", "*.yaml"))
	if err != nil || len(files) == 0 {
		log.Fatal("no templates in ", directory)
	}
	for _, file := range files {
		parsed, err := template.New(filepath.Base(file)).Funcs(functions).Option("missingkey=zero").ParseFiles(file)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("---\n# Source: %s\n", filepath.Base(file))
		if err := parsed.Execute(os.Stdout, data); err != nil {
			log.Fatal(err)
		}
		fmt.Println()
	}
}
