import { t } from '@svc/plugin-sdk'

/** Setting for the base address of a service: HTTPS, or HTTP on this machine. */
export function channelAddress(address: string, description: string, variable?: string) {
  return t.string({
    default: address,
    pattern: '^https?://[^\\s?#]+$',
    ...(variable === undefined ? {} : { 'x-env': variable }),
    description: `${description} HTTPS, or HTTP on this machine.`
  })
}

/** Setting for a credential of a channel. */
export function credential(variable: string, description: string) {
  return t.optional(t.secret({ 'x-env': variable, description }))
}
