import { service } from '@svc/plugin-sdk'
import type { Coordination } from './store.ts'

/**
 * Store on a database server. The plugin `coordination` provides it as `coordination.store@1` instead of the embedded
 * store.
 *
 * The backend is a separate service, because two providers of `coordination.store@1` would be a conflict, and
 * because a setting decides which of the two stores is used. The plugin `coordination` requires it: if the configured
 * server cannot be used, there is no store, instead of another one. Tests without the plugin `coordination-postgres`
 * use `fake(coordinationBackend, { store: null })`.
 */
export const coordinationBackend = service<CoordinationBackend>('coordination.backend@1')

export interface CoordinationBackend {
  /** Null if no server is configured: the embedded store is used. The provider closes the store. */
  readonly store: Coordination | null
}
