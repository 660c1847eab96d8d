import { kernelAdmin, kernelPort, supportSections } from '@svc/contracts'
import { definePlugin, type Handler, type Infer } from '@svc/plugin-sdk'
import { bundleCommand, type bundleInput, collectOperation } from './operations.ts'

export default definePlugin({
  name: 'support',
  summary: 'Collects what a bug report needs, without secrets',
  requires: { kernel: kernelPort, admin: kernelAdmin },
  points: [supportSections],
  operations: [collectOperation],
  commands: [bundleCommand],
  permissions: { fsWrite: ['*'] },
  activate(ctx, { kernel, admin }) {
    const source = (call: Parameters<Handler<typeof collectOperation>>[1] | null) => ({
      kernel,
      admin,
      call: (id: string, input: object) => ctx.callById(id, input, call === null ? {} : { parent: call })
    })
    ctx.implement(collectOperation, async (_input, call) => {
      const { collectSections } = await import('./sections.ts')
      return { sections: await collectSections(source(call), call.signal) }
    })
    ctx.command(bundleCommand.command, async (input, io) => {
      const { runBundle } = await import('./bundle.ts')
      const collect = async (signal: AbortSignal) => {
        // A single command runs without the plugins whose operations the sections call.
        await admin.apply({ activate: ['cli', 'observability', 'limits'] }).catch(() => {})
        const { collectSections } = await import('./sections.ts')
        return collectSections(source(null), signal)
      }
      return runBundle({ projectRoot: ctx.projectRoot, version: kernel.version, collect })(
        input as Infer<typeof bundleInput>,
        io
      )
    })
  }
})
