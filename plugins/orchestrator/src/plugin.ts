import { definePlugin } from '@svc/plugin-sdk'

export default definePlugin({
  name: 'orchestrator',
  summary: 'Tasks, agents, queues, gates and ledgers of the repository',
  activate() {}
})
