import type { Actor, Agent, Decorator, Handler, StateField } from '../syntax/ast.ts'
import type { CodeLowering } from './code.ts'
import { codeOf } from './code-of.ts'
import type { HirActor, HirAgent, HirHandler, HirStateField } from './hir.ts'
import type { ExpressionLowering } from './lower-expressions.ts'
import { lowerType } from './lower-types.ts'

/** Lowers declarations with state and handlers: actors and agents. */
export class StatefulLowering {
  readonly #bodies: ExpressionLowering
  readonly #code: CodeLowering | undefined

  constructor(bodies: ExpressionLowering, code: CodeLowering | undefined) {
    this.#bodies = bodies
    this.#code = code
  }

  actor(actor: Actor): HirActor {
    const id = this.#bodies.define()
    const { params, members } = actor
    const fields = members.filter(member => member.kind === 'StateField')
    return {
      id,
      name: actor.name.text,
      ...(params === null || params.length === 0 ? {} : { params: this.#bodies.params(params) }),
      ...(fields.length === 0 ? {} : { state_fields: fields.map(field => this.#stateField(field)) }),
      handlers: members.flatMap(member => (member.kind === 'Handler' ? [this.#handler(actor, member)] : [])),
      ...codeOf(this.#code?.initial(actor)),
      span: this.#bodies.span(actor)
    }
  }

  agent(agent: Agent): HirAgent {
    const id = this.#bodies.define()
    const { members } = agent
    const version = members.find(member => member.kind === 'AgentVersion')?.version.value ?? null
    const properties = members.filter(member => member.kind === 'AgentProperty')
    return {
      id,
      name: agent.name.text,
      version,
      state_fields: members.flatMap(member => (member.kind === 'StateField' ? [this.#stateField(member)] : [])),
      handlers: members.flatMap(member => {
        if (member.kind !== 'Handler') return []
        const { span, ...handler } = this.#handler(agent, member)
        // Decorators do not apply to single handlers, so they cannot request traces.
        return [{ ...handler, is_traced: false, span }]
      }),
      migrations: members.flatMap(member => {
        if (member.kind !== 'Migration') return []
        const { from, body } = member
        const code = codeOf(this.#code?.migration(agent, member))
        return [{ from_version: from.value, body: this.#bodies.block(body), ...code, span: this.#bodies.span(member) }]
      }),
      ...(properties.length === 0
        ? {}
        : {
            properties: properties.map(({ name, value }) => ({
              name: name.text,
              value: this.#bodies.expression(value),
              ...codeOf(this.#code?.value(value))
            }))
          }),
      ...codeOf(this.#code?.initial(agent)),
      is_deprecated: isDeprecated(agent.decorators),
      span: this.#bodies.span(agent)
    }
  }

  #handler(owner: Actor | Agent, handler: Handler): HirHandler {
    return {
      event_name: handler.event.text,
      params: this.#bodies.params(handler.params),
      return_type: handler.result === null ? null : lowerType(handler.result),
      body: this.#bodies.block(handler.body),
      ...codeOf(this.#code?.handler(owner, handler)),
      span: this.#bodies.span(handler)
    }
  }

  #stateField(field: StateField): HirStateField {
    return {
      name: field.name.text,
      type_ann: field.type === null ? null : lowerType(field.type),
      ...(field.value === null ? {} : { default: this.#bodies.expression(field.value) }),
      span: this.#bodies.span(field)
    }
  }
}

/** True if a declaration has `@deprecated`. */
export function isDeprecated(decorators: readonly Decorator[]): boolean {
  return decorators.some(({ name }) => name.text === 'deprecated')
}
