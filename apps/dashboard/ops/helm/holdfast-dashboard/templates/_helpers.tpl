{{- define "dashboard.name" -}}
{{- default .Release.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "dashboard.selector" -}}
app.kubernetes.io/name: holdfast-dashboard
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "dashboard.labels" -}}
{{ include "dashboard.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end -}}

{{- /* Without a slash at the end. */ -}}
{{- define "dashboard.base" -}}
{{- default "/" .Values.config.basePath | trimSuffix "/" -}}
{{- end -}}

{{- /* The Secret with users and tokens; empty where none is needed. */ -}}
{{- define "dashboard.secret" -}}
{{- if or .Values.auth.usersKey .Values.auth.tokens -}}
{{- default (include "dashboard.name" .) .Values.auth.existingSecret -}}
{{- end -}}
{{- end -}}

{{- /* dashboard.yaml: what the values say, and what the chart knows of the container. */ -}}
{{- define "dashboard.config" -}}
{{- $config := deepCopy .Values.config -}}
{{- $auth := dict -}}
{{- if .Values.auth.usersKey -}}
{{- $_ := set $auth "basic" (dict "file" (printf "/run/secrets/holdfast/%s" .Values.auth.usersKey)) -}}
{{- end -}}
{{- $tokens := list -}}
{{- range .Values.auth.tokens -}}
{{- $file := printf "/run/secrets/holdfast/%s" .key -}}
{{- $tokens = append $tokens (dict "name" .name "role" .role "token" (dict "file" $file)) -}}
{{- end -}}
{{- if $tokens -}}
{{- $_ := set $auth "bearer" $tokens -}}
{{- end -}}
{{- if .Values.auth.anonymousViewers -}}
{{- $_ := set $auth "anonymous" "viewer" -}}
{{- end -}}
{{- if not $auth -}}
{{- fail "auth: give usersKey, tokens or anonymousViewers, or nobody can come in" -}}
{{- end -}}
{{- $_ := set $config "listen" (dict "host" "0.0.0.0" "port" 8080) -}}
{{- $_ := set $config "auth" $auth -}}
{{- $_ := set $config "audit" (dict "file" "/var/lib/holdfast/audit.jsonl") -}}
{{- toYaml $config -}}
{{- end -}}
