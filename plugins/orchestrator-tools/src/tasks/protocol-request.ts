import { capabilityHints, coreHintFields, type EnqueueHints, hintFields, type SubmitRequest } from '@svc/contracts'
import { defined, type Infer, type JsonSchema, t } from '@svc/plugin-sdk'
import { category, categoryOf, filesOf } from '../fields.ts'

/** Params of a submission with the names of the daemon's protocol. */

const open = { additionalProperties: true }
const hidden = { 'x-hidden': true } as const
/** Makes fields optional and accepts empty strings, which older clients send. */
const lenient = <F extends Readonly<Record<string, JsonSchema>>>(fields: F): F =>
  Object.fromEntries(
    Object.entries(fields).map(([key, field]) => [key, t.optional(allowEmptyStrings(field))])
  ) as unknown as F

function allowEmptyStrings({ minLength, items, ...schema }: JsonSchema): JsonSchema {
  return items === undefined ? schema : { ...schema, items: allowEmptyStrings(items as JsonSchema) }
}

const { qgate, attachment_manifest, ...sent } = hintFields
const hints = t.object({ task_category: t.optional(category), ...lenient({ ...coreHintFields, ...sent }) }, open)
const HINTS = Object.keys(hints.properties as object) as (keyof EnqueueHints)[]

const manifest = t.array(
  t.object(
    { path: t.string({ minLength: 1, maxLength: 4_096 }), access: t.enum(['read', 'write', 'Read', 'Write']) },
    open
  ),
  { maxItems: 4_096, description: 'Added to files.', ...hidden }
)

export const protocolFields = {
  file_manifest: t.optional(manifest),
  target_agent: t.optional(
    t.nullable(t.string({ minLength: 1, maxLength: 256 }), { description: 'Like agent_name.', ...hidden })
  ),
  capability_requirements: t.optional(t.nullable(capabilityHints, { description: 'Like capabilities.', ...hidden })),
  enqueue_hints: t.optional(
    t.nullable(hints, { description: 'Fields of the task as one object. Top-level fields override them.', ...hidden })
  )
}

const protocolInput = t.object(protocolFields)

/** Converts the params to a task request. */
export function protocolRequest(
  input: Infer<typeof protocolInput>
): Pick<SubmitRequest, 'files' | 'agent_name' | 'capabilities' | 'hints'> {
  const { file_manifest = [], target_agent, capability_requirements, enqueue_hints } = input
  const files = file_manifest.map(({ path, access }) => ({ path, access: access.toLowerCase() as 'read' | 'write' }))
  return defined({
    files: filesOf(files),
    agent_name: target_agent ?? undefined,
    capabilities: capability_requirements ?? undefined,
    hints: hintsOf((enqueue_hints ?? {}) as EnqueueHints)
  })
}

function hintsOf(input: EnqueueHints): EnqueueHints {
  const known = HINTS.flatMap(key => (input[key] === undefined ? [] : [[key, input[key]] as const]))
  const category = input.task_category === undefined ? undefined : categoryOf(input.task_category)
  return { ...Object.fromEntries(known), ...defined({ task_category: category }) }
}
