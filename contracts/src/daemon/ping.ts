import { defineOperation, t } from '@svc/plugin-sdk'

/** Protocol name in `orch.ping`; changes when a method changes incompatibly. */
export const DAEMON_PROTOCOL = 'svc.orchestrator_daemon/v1'

/** Operation by which clients identify a daemon. They call others only if `repository_id` matches their project. */
export const orchPing = defineOperation({
  id: 'orch.ping',
  summary: 'Check that the daemon runs, and show its project',
  input: t.object({}, { additionalProperties: true }),
  output: t.object({
    ok: t.boolean(),
    repository_id: t.string({ description: 'Identity of the project' }),
    protocol: t.string({ description: 'Name and version of the method set' })
  }),
  effect: 'read',
  // A tap that rejects or delays calls must not hide a running daemon from its clients.
  untapped: true,
  expose: { rpc: true }
})
