import { resolve } from 'node:path'
import { httpHandlers, httpListeners, inferenceEngine, readiness } from '@svc/contracts'
import { definePlugin } from '@svc/plugin-sdk'
import { Checkpoint } from './checkpoint.ts'
import { Queue } from './queue.ts'
import { routesOf } from './routes.ts'
import { settings } from './settings.ts'

const LISTENER = 'execution-api'

export default definePlugin({
  name: 'execution-api',
  summary: 'Serves the completions of one checkpoint on a separate port',
  config: settings,
  requires: { engine: inferenceEngine },
  activate(ctx, { engine }) {
    const { model, model_name, device, host, port, queue, timeout_seconds } = ctx.config
    if (model === undefined) return
    const path = resolve(ctx.projectRoot, model)
    const checkpoint = new Checkpoint({ path, name: model_name, device, engine })
    ctx.contribute(httpListeners, {
      name: LISTENER,
      host,
      port,
      setting: 'plugins.execution-api.port',
      errors: 'openai'
    })
    ctx.contribute(httpHandlers, {
      listener: LISTENER,
      routes: routesOf({
        checkpoint,
        queue: new Queue(queue),
        timeoutMs: timeout_seconds * 1_000,
        signal: ctx.signal
      })
    })
    ctx.contribute(readiness, {
      name: 'execution-api',
      check: () => {
        const reason = checkpoint.problem
        return reason === null ? { ok: true } : { ok: false, detail: reason }
      }
    })
    ctx.onServe(`model ${checkpoint.name}`, () => {
      ctx.background(`load ${path}`, async () => {
        await checkpoint.load()
        const reason = checkpoint.problem
        if (reason !== null && !ctx.signal.aborted) ctx.log.error(`the checkpoint server has no model: ${reason}`)
      })
    })
    ctx.effect(`model ${checkpoint.name}`, () => checkpoint.close())
  }
})
