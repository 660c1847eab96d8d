import { definePlugin } from '@svc/plugin-sdk'

export default definePlugin({
  name: 'planning',
  summary: 'Goals into plans of tasks, and plans anew when they fail',
  activate() {}
})
