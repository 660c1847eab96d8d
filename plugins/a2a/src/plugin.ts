import { definePlugin } from '@svc/plugin-sdk'

export default definePlugin({
  name: 'a2a',
  summary: 'Messages between agents over five planes',
  activate() {}
})
