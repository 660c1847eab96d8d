import {
  type CommandDescriptor,
  type CommandHandler,
  defineOperation,
  type Handler,
  type PluginContext,
  t
} from '@svc/plugin-sdk'
import type { Dependencies } from '../dependencies.ts'
import { rewardErrors } from '../errors.ts'
import { HINT_KINDS, textOfKind } from '../rules/hints.ts'
import { assertSettingsOn } from '../switches.ts'
import { LINK_NAMES } from '../teaching/link.ts'

const { RWD_OFF, RWD_HINT_BUSY } = rewardErrors.specs

const kind = t.enum(
  HINT_KINDS.map(each => each.kind),
  { description: 'Kind of mistake, as the list of hints shows it.' }
)

export const hintExplain = defineOperation({
  id: 'reward.hint.explain',
  summary: 'Explain a kind of mistake',
  description:
    'With the setting teaching, a model writes the text. It gets only the kind of the mistake and the fixed text.',
  input: t.object({ kind }),
  output: t.object({
    kind: t.string(),
    text: t.string(),
    source: t.enum(['fixed', ...LINK_NAMES], { description: 'Who wrote the text. fixed: no model.' }),
    failed: t.array(t.object({ link: t.enum([...LINK_NAMES]), reason: t.string() }), {
      description: 'Services that were to write the text and did not.'
    })
  }),
  errors: { RWD_OFF, RWD_HINT_BUSY },
  effect: 'write',
  expose: { http: { method: 'POST', path: '/api/reward/hints/:kind/explain' }, rpc: true }
})

export function explainHandler(dependencies: Dependencies): Handler<typeof hintExplain> {
  return async ({ kind }, { signal }) => {
    assertSettingsOn(dependencies)
    const { text, source, failed } = await dependencies.teacher.explain({ kind, text: textOfKind(kind) }, signal)
    return { kind, text, source, failed: [...failed] }
  }
}

/** Command instead of an exposed operation: the plugins that reach models must be active. */
export const explainCommand = {
  command: 'reward explain',
  summary: 'Explain a kind of mistake',
  input: t.object({ kind }),
  args: ['kind'],
  project: true
} as const satisfies CommandDescriptor

export function explainCommandHandler(ctx: Pick<PluginContext, 'call'>): CommandHandler {
  return async ({ kind }, { stdout, stderr, json, signal }) => {
    const result = await ctx.call(hintExplain, { kind: String(kind) }, { signal })
    if (json) stdout.write(`${JSON.stringify(result)}\n`)
    else {
      for (const { link, reason } of result.failed) stderr.write(`${link}: ${reason}\n`)
      stdout.write(`${result.text}${result.source === 'fixed' ? '' : ` (text of a model: ${result.source})`}\n`)
    }
    return 0
  }
}
