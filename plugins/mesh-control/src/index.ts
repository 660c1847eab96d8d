// Exports of this folder for tests. Sources import the files directly.
export { ClientAddresses } from './client-address.ts'
export { HostGuard } from './host-guard.ts'
export { InboxWaiters } from './inbox-waiters.ts'
export { allowedPrivacy, privacyNumber } from './privacy.ts'
export { RateLimit } from './rate-limit.ts'
