import { defineOperation, definePlugin, t } from '@svc/plugin-sdk'

const echo = defineOperation({
  id: 'soak.echo',
  summary: 'Return a text and the number of the process',
  input: t.object({ text: t.string() }),
  output: t.object({ text: t.string(), pid: t.integer() }),
  effect: 'read',
  expose: { http: { method: 'GET', path: '/soak/echo' } }
})

export default definePlugin({
  name: 'soak-isolated',
  operations: [echo],
  activate(ctx) {
    ctx.implement(echo, ({ text }) => ({ text, pid: process.pid }))
  }
})
