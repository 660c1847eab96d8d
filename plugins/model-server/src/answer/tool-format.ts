import { randomBytes } from 'node:crypto'
import type { ChatTool, OutputConstraint } from '@svc/contracts'
import { movedSchema } from './moved-schema.ts'

/** Text format in which a model family writes tool calls. */
export interface ToolFormat {
  readonly name: 'tagged' | 'list' | 'bare'
  /** Marks that begin a call. */
  readonly opens: readonly string[]
  /** Mark that ends a call; empty if a call ends with its JSON. */
  readonly close: string
  /** Name of the field with the arguments. */
  readonly argumentsField: 'arguments' | 'parameters'
  /** Returns an id for a new call, in the form that the family's template accepts. */
  newId(): string
}

/** `<tool_call>{"name": …, "arguments": {…}}</tool_call>`: Qwen 2.5 and 3, Hermes. */
const TAGGED: ToolFormat = {
  name: 'tagged',
  opens: ['<tool_call>'],
  close: '</tool_call>',
  argumentsField: 'arguments',
  newId: () => `call_${randomText(24)}`
}

/**
 * `[TOOL_CALLS][{"name": …, "arguments": {…}}, …]`, or `[TOOL_CALLS]name[ARGS]{…}`: Mistral, whose template requires
 * ids of nine characters.
 */
const LIST: ToolFormat = {
  name: 'list',
  opens: ['[TOOL_CALLS]'],
  close: '',
  argumentsField: 'arguments',
  newId: () => randomText(9)
}

/** `functools[{"name": …, "arguments": {…}}, …]`: Phi 4. */
const FUNCTOOLS: ToolFormat = {
  name: 'list',
  opens: ['functools', '<|tool_call|>'],
  close: '',
  argumentsField: 'arguments',
  newId: () => `call_${randomText(24)}`
}

/** `{"name": …, "parameters": {…}}` as the whole answer, with or without `<|python_tag|>`: Llama 3. */
const BARE: ToolFormat = {
  name: 'bare',
  opens: ['<|python_tag|>'],
  close: '',
  argumentsField: 'parameters',
  newId: () => `call_${randomText(24)}`
}

/** Returns the format whose marks a chat template contains. The default is the format of Llama. */
export function toolFormat(template: string): ToolFormat {
  const format = [TAGGED, LIST].find(({ opens }) => opens.some(mark => template.includes(mark)))
  return format ?? (template.includes('<|tool|>') ? FUNCTOOLS : BARE)
}

/** Prefilled beginning of an answer that must be a call, and the constraint on the rest. */
export interface ForcedCall {
  readonly prefill: string
  readonly constraint: OutputConstraint
}

/** Returns the prefill and constraint that force a call of one of the tools. `several`: allow more than one call. */
export function forcedCall(format: ToolFormat, tools: readonly ChatTool[], several: boolean): ForcedCall {
  const isList = format.name === 'list'
  const calls = tools.map(({ name, parameters }, at) => {
    const place = `#${isList ? '/items' : ''}${tools.length === 1 ? '' : `/anyOf/${at}`}/properties/${format.argumentsField}`
    return {
      type: 'object',
      properties: { name: { const: name }, [format.argumentsField]: movedSchema(withObjectType(parameters), place) },
      required: ['name', format.argumentsField],
      additionalProperties: false
    }
  })
  const call = calls.length === 1 ? (calls[0] as object) : { anyOf: calls }
  if (!isList) {
    const prefill = format.name === 'tagged' ? `${TAGGED.opens[0]}\n` : ''
    return { prefill, constraint: { type: 'json-schema', schema: { ...call } } }
  }
  const schema = { type: 'array', items: call, minItems: 1, ...(several ? {} : { maxItems: 1 }) }
  return { prefill: String(format.opens[0]), constraint: { type: 'json-schema', schema } }
}

/** Adds the type `object`: a function without parameters may be declared with an empty schema. */
function withObjectType(parameters: ChatTool['parameters']): object {
  return 'type' in parameters || 'anyOf' in parameters || '$ref' in parameters
    ? parameters
    : { type: 'object', ...parameters }
}

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

function randomText(length: number): string {
  return [...randomBytes(length)].map(byte => ALPHABET[byte % ALPHABET.length]).join('')
}
