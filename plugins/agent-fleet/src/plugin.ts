import {
  agentFleet,
  type InferenceClient,
  inferenceClient,
  kernelAdmin,
  mcpToolset,
  orchestrator,
  sessionContext,
  type TaskProcessor,
  taskProcessors
} from '@svc/contracts'
import { definePlugin, type Ref, ref } from '@svc/plugin-sdk'
import { AiProcessor } from './ai/ai-processor.ts'
import { Fleet } from './fleet.ts'
import { settings } from './settings.ts'
import { stubProcessor } from './stub-processor.ts'

export default definePlugin({
  name: 'agent-fleet',
  summary: 'Agents that work on tasks: the stub fleet and the AI task processor',
  config: settings,
  requires: { orchestrator },
  optional: {
    admin: kernelAdmin,
    client: ref(inferenceClient),
    toolset: ref(mcpToolset),
    sessions: ref(sessionContext)
  },
  provides: [agentFleet],
  points: [taskProcessors],
  async activate(ctx, deps) {
    const { log } = ctx
    const config = () => ctx.config
    const stub = stubProcessor(() => config().stub_completes)
    const ai = new AiProcessor(
      {
        orchestrator: deps.orchestrator,
        settings: config,
        log,
        client: () => (deps.client as Ref<InferenceClient>).current,
        toolset: () => deps.toolset?.available,
        sessions: () => deps.sessions?.available
      },
      config().processor === 'ai'
    )
    const own: Readonly<Record<typeof ctx.config.processor, readonly TaskProcessor[]>> = {
      auto: [ai, stub],
      ai: [ai],
      stub: [stub],
      external: []
    }
    const fleet = new Fleet({
      orchestrator: deps.orchestrator,
      log,
      enabled: () => config().fleet,
      timeoutMs: () => config().task_timeout_ms,
      fallback: stubProcessor(() => false)
    })
    // Persists across reloads: once a surface has started the fleet, later generations start it too.
    const lasting = await ctx.keep(
      'requested',
      () => ({ requested: deps.admin?.serves === true }),
      () => {}
    )
    ctx.follow(taskProcessors, contributed => fleet.use([...contributed, ...own[config().processor]]))
    ctx.onServe('agents', () => {
      if (lasting.requested) fleet.start()
    })
    ctx.onDrain('agents', reason => fleet.stop(reason === 'closing' ? 'the process ends' : 'the fleet stops'))
    ctx.effect('agents', () => fleet.stop('the fleet stops'))
    ctx.provide(agentFleet, {
      get running() {
        return fleet.running
      },
      get workers() {
        return fleet.workers
      },
      get processors() {
        return fleet.processors
      },
      start() {
        lasting.requested = true
        fleet.start()
      }
    })
  }
})
