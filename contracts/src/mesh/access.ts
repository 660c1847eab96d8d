import type { IncomingMessage } from 'node:http'
import { service } from '@svc/plugin-sdk'
import type { MeshRole } from './mesh-settings.ts'

/** Access control of the listener `mesh`, for plugins that serve other protocols on it. The control plane provides it. */
export const meshAccess = service<MeshAccess>('mesh.access@1')

export interface MeshAccess {
  /**
   * Checks the Host and Origin headers, the request rate and the bearer of a request, and returns the role of its caller;
   * `mesh` if the control plane has no tokens. Throws `MSC_HOST_DENIED`, `MSC_ORIGIN_DENIED`, `MSC_UNAUTHORIZED` and
   * `MSC_RATE_LIMITED`, whose `data.retryAfterMs` is the time until another request, and errors of the store.
   */
  identify(request: IncomingMessage): Promise<MeshRole>
  /** Checks only the Host and Origin headers, for a response that is public. Throws `MSC_HOST_DENIED` or `MSC_ORIGIN_DENIED`. */
  admit(request: IncomingMessage): void
}
