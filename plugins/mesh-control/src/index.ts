// Exports of this folder for tests. Sources import the files directly.
export { clientAddresses } from './client-address.ts'
export { controlRoutes } from './control-routes.ts'
export { HostGuard } from './host-guard.ts'
export { InboxWaiters } from './inbox-waiters.ts'
export type { MeshRoute } from './mesh-routes.ts'
export { allowedPrivacy, privacyNumber } from './privacy.ts'
export { RateLimit } from './rate-limit.ts'
export { viewRoutes } from './views-routes.ts'
