import { errorMessage, type Infer, t } from '@svc/plugin-sdk'
import { describeErrors, renderProblems, schemaCheck } from '@svc/plugin-sdk/check'
import type { RequestTemplate } from '../conversation.ts'
import { GoTemplate, isGoTemplate } from '../ollama/go-template/go-template.ts'
import { OPTION_NAMES, readOptions } from '../ollama/options.ts'
import { type ModelDefaults, NO_DEFAULTS } from './model-defaults.ts'

/** Three times the length of the longest template of a public model, in characters. */
export const MAX_TEMPLATE_LENGTH = 32_768

const messages = t.array(t.object({ role: t.enum(['system', 'user', 'assistant']), content: t.string() }))

/** Fields of the defaults, apart from the licenses. */
export const defaultFields = {
  template: t.optional(t.string()),
  system: t.optional(t.string()),
  parameters: t.optional(t.record(t.unknown())),
  messages: t.optional(messages)
}

export const writtenDefaults = t.object({ ...defaultFields, license: t.optional(t.array(t.string())) })

/** Defaults of a model as a Modelfile has them: template in Go or Jinja, options with the names of Ollama. */
export type WrittenDefaults = Infer<typeof writtenDefaults>

const checkMessages = schemaCheck(messages)

/** Returns the defaults, with a note for each part that this server cannot use. */
export function readWrittenDefaults(written: WrittenDefaults, notes: readonly string[] = []): ModelDefaults {
  const found: string[] = [...notes]
  const parameters = written.parameters ?? {}
  const usable: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(parameters)) {
    const problem = problemOf(name, value)
    if (problem === null) usable[name] = value
    else found.push(`the parameter ${JSON.stringify(name)} is not used: ${problem}`)
  }
  const template = templateOf(written.template ?? '', found)
  return {
    ...(template === undefined ? {} : { template }),
    system: written.system ?? '',
    messages: written.messages ?? [],
    options: Object.keys(usable).length === 0 ? NO_DEFAULTS.options : readOptions(usable),
    parameters: usable,
    licenses: written.license ?? [],
    notes: found
  }
}

/** Returns defaults with those of `over` instead of the same ones. */
export function mergedDefaults(base: WrittenDefaults, over: WrittenDefaults): WrittenDefaults {
  const parameters = { ...base.parameters, ...over.parameters }
  return { ...base, ...over, ...(Object.keys(parameters).length === 0 ? {} : { parameters }) }
}

/** Parses the messages of a file. Throws an error that says what is wrong. */
export function parseMessages(text: string): WrittenDefaults['messages'] {
  const checked = checkMessages(JSON.parse(text))
  if (!checked.ok) throw new Error(renderProblems(describeErrors(checked.errors)))
  return checked.value
}

function problemOf(name: string, value: unknown): string | null {
  if (!OPTION_NAMES.has(name)) return 'this server has no such option'
  try {
    readOptions({ [name]: value })
    return null
  } catch (error) {
    return errorMessage(error)
  }
}

function templateOf(text: string, notes: string[]): RequestTemplate | undefined {
  if (text === '') return undefined
  try {
    if (text.length > MAX_TEMPLATE_LENGTH) throw new Error(`it has more than ${MAX_TEMPLATE_LENGTH} characters`)
    return isGoTemplate(text) ? new GoTemplate(text) : text
  } catch (error) {
    notes.push(`the template is not used, but that of the model's files: ${errorMessage(error)}`)
    return undefined
  }
}
