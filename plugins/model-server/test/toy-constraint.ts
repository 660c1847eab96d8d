import type { OutputConstraint, TextGrammar, TextGrammarState } from '@svc/contracts'
import { SvcError } from '@svc/plugin-sdk'
import { IM_END } from './toy-tokenizer.ts'

/** Returns a grammar that accepts only one string. */
export function literalGrammar(text: string): TextGrammar {
  const bytes = Buffer.from(text)
  const at = (position: number): TextGrammarState => ({
    key: String(position),
    accepting: position === bytes.length,
    advance: byte => (bytes[position] === byte ? at(position + 1) : null)
  })
  return { start: () => at(0) }
}

/** Constraint mask of the toy model. Accepts exactly one value for each schema, so the answer is valid JSON. */
export class ToyMask {
  #state: TextGrammarState

  /** Throws `INF_CONSTRAINT_UNSUPPORTED` for patterns and for the keyword `not`. */
  constructor(constraint: OutputConstraint) {
    this.#state = grammarOf(constraint).start()
  }

  apply(logits: Float32Array): void {
    for (let token = 0; token < logits.length; token++) {
      const allowed = token < 256 ? this.#state.advance(token) !== null : token === IM_END && this.#state.accepting
      if (!allowed) logits[token] = Number.NEGATIVE_INFINITY
    }
  }

  advance(token: number): void {
    this.#state = this.#state.advance(token) ?? this.#state
  }
}

function grammarOf(constraint: OutputConstraint): TextGrammar {
  if (constraint.type === 'grammar') return constraint.grammar
  if (constraint.type === 'json-object') return literalGrammar('{"toy": true}')
  if (constraint.type === 'json-schema') return literalGrammar(JSON.stringify(sample(constraint.schema)))
  throw unsupported(`patterns are not supported`)
}

type Schema = Readonly<Record<string, any>>

function sample(schema: Schema): unknown {
  if ('not' in schema) throw unsupported(`the keyword 'not' is not supported`)
  if ('const' in schema) return schema.const
  if ('enum' in schema) return schema.enum[0]
  if ('anyOf' in schema) return sample(schema.anyOf[0])
  if (schema.type === 'array') return Array.from({ length: schema.minItems ?? 0 }, () => sample(schema.items))
  if (schema.type === 'string') return 'text'
  if (schema.type === 'integer' || schema.type === 'number') return 7
  if (schema.type === 'boolean') return true
  const properties = Object.entries((schema.properties ?? {}) as Record<string, Schema>)
  return Object.fromEntries(properties.map(([name, each]) => [name, sample(each)]))
}

function unsupported(message: string): Error {
  return new SvcError('INF_CONSTRAINT_UNSUPPORTED', message, { status: 400 })
}
