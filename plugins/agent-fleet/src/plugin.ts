import { definePlugin } from '@svc/plugin-sdk'

export default definePlugin({
  name: 'agent-fleet',
  summary: 'Agents that take up tasks: the stub fleet and the AI task processor',
  activate() {}
})
