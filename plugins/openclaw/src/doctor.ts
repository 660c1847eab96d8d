import { isSvcError } from '@svc/plugin-sdk'
import type { OpenClawGateway } from './gateway.ts'
import { probeHttp } from './probe.ts'
import type { Settings } from './settings.ts'
import type { Sidecar, SidecarStart } from './sidecar/sidecar.ts'

/** State of the gateway and its sidecar. */
export interface Diagnosis {
  /** True if the gateway responds over HTTP and on its control plane. */
  readonly ready: boolean
  /** True for a response with any status. */
  readonly http_ok: boolean
  readonly http_status: number | null
  readonly ws_ok: boolean
  readonly token_configured: boolean
  readonly sidecar_auto_start_attempted: boolean
  readonly sidecar_started: boolean
  readonly sidecar_running_prior: boolean
  /** Number of probes after the start. */
  readonly sidecar_start_attempts: number
  readonly sidecar_binary: string | null
  readonly sidecar_pid: number | null
  readonly sidecar_state_file: string
  readonly sidecar_spawn_error: string | null
  readonly sidecar_version: string | null
  readonly sidecar_expected_version: string | null
  /** True if the version contains the expected text, or none is expected. */
  readonly sidecar_version_match: boolean
  readonly discovery_source: string
  readonly http_gateway_url: string
  readonly ws_gateway_url: string
  readonly catalog_list_url: string
  readonly catalog_search_url: string
}

export interface DoctorParts {
  readonly settings: Settings
  readonly gateway: OpenClawGateway
  readonly sidecar: Sidecar
}

/** Probes the gateway. With `autoStart`, first starts the sidecar if the gateway does not respond. */
export async function diagnose(
  { settings, gateway, sidecar }: DoctorParts,
  autoStart: boolean,
  signal?: AbortSignal
): Promise<Diagnosis> {
  const prior = await sidecar.status()
  let endpoints = await gateway.endpoints(signal)
  const probe = async (): Promise<{ readonly status: number | null; readonly ws: boolean }> => {
    const http = probeHttp(`${endpoints.http_gateway_url}/v1/skills`, settings.token, signal)
    const [status, ws] = await Promise.all([http, gateway.responds(signal)])
    return { status, ws }
  }
  let found = await probe()
  const isAttempted = autoStart && !settings.sidecar_disabled && !found.ws
  let start: SidecarStart | null = null
  let problem: string | null = null
  if (isAttempted) {
    try {
      start = await sidecar.start(signal)
      gateway.rediscover()
      endpoints = await gateway.endpoints(signal)
      found = await probe()
    } catch (error) {
      if (!isSvcError(error)) throw error
      problem = error.message
    }
  }
  const { binary, pid } = start === null ? prior : await sidecar.status()
  const version = binary === null ? null : await sidecar.version(binary)
  const expected = settings.sidecar_expected_version ?? null
  const { http_gateway_url, ws_gateway_url, catalog_list_url, catalog_search_url, discovery_source } = endpoints
  return {
    ready: found.status !== null && found.ws,
    http_ok: found.status !== null,
    http_status: found.status,
    ws_ok: found.ws,
    token_configured: settings.token !== undefined,
    sidecar_auto_start_attempted: isAttempted,
    sidecar_started: start?.started ?? false,
    sidecar_running_prior: prior.running,
    sidecar_start_attempts: start?.attempts ?? 0,
    sidecar_binary: binary,
    sidecar_pid: pid,
    sidecar_state_file: prior.state_file,
    sidecar_spawn_error: problem,
    sidecar_version: version,
    sidecar_expected_version: expected,
    sidecar_version_match: expected === null || (version?.includes(expected) ?? false),
    discovery_source,
    http_gateway_url,
    ws_gateway_url,
    catalog_list_url,
    catalog_search_url
  }
}
