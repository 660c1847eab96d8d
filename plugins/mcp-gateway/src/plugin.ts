import { definePlugin } from '@svc/plugin-sdk'

export default definePlugin({
  name: 'mcp-gateway',
  summary: 'The tools of MCP over HTTP and WebSocket, for remote and mobile clients',
  activate() {}
})
