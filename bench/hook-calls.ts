import { operationEnded, operationStarting, requestFinished } from '@svc/contracts'
import { openTestKernel } from '@svc/kernel/testing'
import { defineOperation, definePlugin, type PluginContext, t } from '@svc/plugin-sdk'

const ping = defineOperation({ id: 'bench.ping', summary: 'x', input: t.object({}), output: t.object({}) })
const call = { surface: 'http', principal: { id: 'bench', role: 'user', scopes: [] } } as const

/** Returns the CPU time of this process in nanoseconds. Other processes affect it less than wall clock time. */
function cpuNs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) * 1_000
}

const tapping = definePlugin({
  name: 'tapping',
  activate(ctx) {
    ctx.on(operationStarting, () => {})
    ctx.on(operationEnded, () => {})
  }
})

/** Measures the nanoseconds per call of an operation that does nothing. */
export async function measureCall(calls: number, isTapped: boolean): Promise<number> {
  const answering = definePlugin({
    name: 'bench',
    operations: [ping],
    activate: ctx => ctx.implement(ping, () => ({}))
  })
  const { kernel, close } = await openTestKernel({ plugins: isTapped ? [answering, tapping] : [answering] })
  for (let index = 0; index < calls / 2; index++) await kernel.invoke('bench.ping', {}, call)
  const started = cpuNs()
  for (let index = 0; index < calls; index++) await kernel.invoke('bench.ping', {}, call)
  const ns = (cpuNs() - started) / calls
  await close()
  return ns
}

/** Measures the nanoseconds of `isTapped` for a hook that no plugin taps. */
export async function measureLook(looks: number): Promise<number> {
  let context: PluginContext | undefined
  const looking = definePlugin({
    name: 'looking',
    activate(ctx) {
      context = ctx as PluginContext
    }
  })
  const { close } = await openTestKernel({ plugins: [looking] })
  let tapped = 0
  for (let index = 0; index < looks / 2; index++) if (context?.isTapped(requestFinished)) tapped += 1
  const started = cpuNs()
  for (let index = 0; index < looks; index++) if (context?.isTapped(requestFinished)) tapped += 1
  const ns = (cpuNs() - started) / looks
  await close()
  return tapped === 0 ? ns : Number.NaN
}

/** Measures the nanoseconds of `changed` for topics that no client watches. */
export async function measureChanged(changes: number): Promise<number> {
  let context: PluginContext | undefined
  const changing = definePlugin({
    name: 'changing',
    activate(ctx) {
      context = ctx as PluginContext
    }
  })
  const { kernel, close } = await openTestKernel({ plugins: [changing] })
  const topics = Array.from({ length: 20 }, (_, index) => `changing.topic${index}`)
  const announce = (count: number): void => {
    for (let index = 0; index < count; index++) context?.changed(topics[index % topics.length] as string)
  }
  announce(changes / 2)
  const started = cpuNs()
  announce(changes)
  const ns = (cpuNs() - started) / changes
  const announced = topics.reduce((sum, topic) => sum + kernel.topics.version(topic), 0)
  await close()
  return announced >= changes ? ns : Number.NaN
}
