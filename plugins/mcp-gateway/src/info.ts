import type { HttpServer } from '@svc/contracts'
import type { Ref } from '@svc/plugin-sdk'
import type { Settings } from './settings.ts'
import type { ToolDispatcher } from './tools/tool-dispatcher.ts'

export interface GatewayInfo {
  readonly settings: Settings
  readonly authRequired: boolean
  readonly listener: string
  readonly server: Ref<HttpServer>
}

/** Builds the response of `GET /v1/info`; it never contains a token. */
export function describeGateway(
  { settings, authRequired, listener, server }: GatewayInfo,
  dispatcher: ToolDispatcher,
  perMinute: number
) {
  const address = server.current.addresses.find(each => each.listener === listener)
  return {
    enabled: true,
    bind_host: settings.host,
    bind_port: address?.port ?? settings.port,
    auth_required: authRequired,
    require_forwarded_https: settings.require_forwarded_https,
    allowed_tools: dispatcher.names('write'),
    read_role_allowed_tools: dispatcher.names('read'),
    // Allowed tools that no active plugin offers.
    missing_tools: dispatcher.allowed.missing,
    calls_per_minute: perMinute
  }
}
