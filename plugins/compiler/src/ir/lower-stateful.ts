import { isDeprecated } from '../hir/headers.ts'
import { lowerType } from '../hir/lower-types.ts'
import type { Actor, Agent, Handler, StateField } from '../syntax/ast.ts'
import type { IrActor, IrAgent, IrHandler, IrStateField } from './ir.ts'
import type { ExpressionLowering } from './lower-expressions.ts'

/** Lowers declarations with state and handlers: actors and agents. */
export class StatefulLowering {
  readonly #bodies: ExpressionLowering

  constructor(bodies: ExpressionLowering) {
    this.#bodies = bodies
  }

  actor(actor: Actor): IrActor {
    const id = this.#bodies.define()
    const { params, members } = actor
    const fields = members.filter(member => member.kind === 'StateField')
    return {
      id,
      name: actor.name.text,
      ...(params === null || params.length === 0 ? {} : { params: this.#bodies.params(params) }),
      ...(fields.length === 0 ? {} : { state_fields: fields.map(field => this.#stateField(field)) }),
      handlers: members.flatMap(member => (member.kind === 'Handler' ? [this.#handler(member)] : [])),
      span: this.#bodies.span(actor)
    }
  }

  agent(agent: Agent): IrAgent {
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
        const { span, ...handler } = this.#handler(member)
        // Decorators do not apply to single handlers, so they cannot request traces.
        return [{ ...handler, is_traced: false, span }]
      }),
      migrations: members.flatMap(member => {
        if (member.kind !== 'Migration') return []
        const { from, body } = member
        return [{ from_version: from.value, body: this.#bodies.block(body), span: this.#bodies.span(member) }]
      }),
      ...(properties.length === 0
        ? {}
        : {
            properties: properties.map(({ name, value }) => ({
              name: name.text,
              value: this.#bodies.expression(value)
            }))
          }),
      is_deprecated: isDeprecated(agent.decorators),
      span: this.#bodies.span(agent)
    }
  }

  #handler(handler: Handler): IrHandler {
    return {
      event_name: handler.event.text,
      params: this.#bodies.params(handler.params),
      return_type: handler.result === null ? null : lowerType(handler.result),
      body: this.#bodies.block(handler.body),
      span: this.#bodies.span(handler)
    }
  }

  #stateField(field: StateField): IrStateField {
    return {
      name: field.name.text,
      type_ann: field.type === null ? null : lowerType(field.type),
      ...(field.value === null ? {} : { default: this.#bodies.expression(field.value) }),
      span: this.#bodies.span(field)
    }
  }
}
