import { definePlugin } from '@svc/plugin-sdk'

export default definePlugin({
  name: 'publication',
  summary: 'Publications with approvals, checks and a gate that two people open',
  activate() {}
})
