import { defineOperation, type Handler, t } from '@svc/plugin-sdk'
import { bound, type Dependencies } from '../dependencies.ts'

const agentIds = defineOperation({
  id: 'orch.agent_ids',
  summary: 'List agent ids',
  input: t.object({}, { additionalProperties: true }),
  output: t.object({ agent_ids: t.array(t.integer()) }),
  effect: 'read',
  expose: { rpc: true }
})

function agentIdsHandler({ local }: Dependencies): Handler<typeof agentIds> {
  return () => ({ agent_ids: local.agents().map(({ id }) => id) })
}

export const agentIdLists = [bound(agentIds, agentIdsHandler)]
