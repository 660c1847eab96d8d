import { type Doc, group, hardline, indent, line } from '../doc/doc.ts'
import type {
  Agent,
  AppHook,
  Component,
  ComponentMember,
  Declaration,
  Environment,
  EnvironmentItem,
  Form,
  MachineState,
  Module,
  RouteEntry,
  RouteFallback,
  StateMachine,
  StyleBlock,
  Transition,
  UrlDeclaration
} from '../syntax/ast.ts'
import type { Expression } from '../syntax/ast-expressions.ts'
import { DeclarationPrinter } from './declaration-printer.ts'

/** Prints a whole file, and declarations of user interfaces. */
export class ModulePrinter extends DeclarationPrinter {
  module({ items, end }: Module): Doc {
    const content = this.lines(
      items,
      end,
      item => this.#declaration(item),
      (before, after) => this.isApart(before, after)
    )
    return content.length === 0 ? '' : [content, hardline]
  }

  #declaration(node: Declaration): Doc {
    switch (node.kind) {
      case 'Import':
        return this.import(node.items)
      case 'Type':
        return this.typeDeclaration(node)
      case 'Table':
        return this.table(node)
      case 'Index':
        return this.index(node)
      case 'Function':
        return this.fn(node)
      case 'HttpRoute':
        return this.httpRoute(node)
      case 'Actor': {
        const members = this.braces(node.members, node.end, member =>
          member.kind === 'Handler' ? this.handler(member) : this.stateField(member)
        )
        const params = node.params === null ? '' : this.params(node.params, node.params.at(-1)?.end ?? node.name.end)
        return [this.prefix(node), `actor ${node.name.text}`, params, ' ', members]
      }
      case 'Workflow':
      case 'Activity':
        return this.procedure(node)
      case 'Agent':
        return this.#agent(node)
      case 'Environment':
        return this.#environment(node)
      case 'Component':
        return this.#component(node)
      case 'Island':
        return ['@island', hardline, this.prefix(node), `${node.name.text} `, this.#props(node)]
      case 'V0': {
        const source = `${node.fromFile ? 'from ' : ''}${this.string(node.source)}`
        return [this.prefix(node), `@v0 ${source} ${node.name.text} `, this.#props(node)]
      }
      case 'Routes':
        return [this.prefix(node), 'routes ', this.braces(node.entries, node.end, entry => this.#route(entry))]
      case 'Const':
        return [this.prefix(node), this.statement(node.statement)]
      case 'ExternFunction': {
        const head = [
          this.prefix(node),
          `extern fn ${node.name.text}`,
          this.params(node.params, (node.result ?? node.binding).start)
        ]
        return [head, this.result(node.result), ' = ', this.string(node.binding)]
      }
      case 'Url':
        return this.#url(node)
      case 'StateMachine':
        return this.#stateMachine(node)
      case 'Fragment': {
        const head = [this.prefix(node), `fragment ${node.name.text}`, this.params(node.params, node.body.start)]
        return [head, ' ', this.braces([node.body], node.end, body => this.expression(body))]
      }
      case 'Form':
        return this.#form(node)
      case 'AppHook':
        return this.#appHook(node)
      case 'ScriptStatement':
        return this.statement(node.statement)
    }
  }

  #props({ name, props, end }: Extract<Declaration, { kind: 'Island' | 'V0' }>): Doc {
    return this.fields(props, name.end, end)
  }

  #agent(node: Agent): Doc {
    const members = this.braces(node.members, node.end, member => {
      switch (member.kind) {
        case 'AgentVersion':
          return `version ${this.string(member.version)}`
        case 'Migration':
          return ['migrate from ', this.string(member.from), ' ', this.block(member.body)]
        case 'AgentProperty':
          return [`${member.name.text}: `, this.expression(member.value)]
        case 'Handler':
          return this.handler(member)
        case 'StateField':
          return this.stateField(member)
      }
    })
    return [this.prefix(node), `agent ${node.name.text} `, members]
  }

  #environment(node: Environment): Doc {
    const items = this.braces(node.items, node.end, item => this.#environmentItem(item))
    return [this.prefix(node), `env ${node.name.text} `, items]
  }

  #environmentItem(item: EnvironmentItem): Doc {
    if (item.kind === 'EnvironmentCopy') return `copy ${this.string(item.from)} to ${this.string(item.to)}`
    if (item.kind === 'EnvironmentVariable') return [`env ${item.name.text} = `, this.expression(item.value)]
    return [`${item.key} `, this.expression(item.value)]
  }

  #component(node: Component): Doc {
    const { name, params, members, body, styles } = node
    const head = [this.prefix(node), `component ${name.text}`, this.params(params, body.start), ' ']
    const braces = this.braces(members, body.end, each => this.#member(each))
    return [head, braces, styles.map((each): Doc => [hardline, this.#style(each)])]
  }

  #member(member: ComponentMember): Doc {
    switch (member.kind) {
      case 'State':
      case 'Derived': {
        const word = member.kind === 'State' ? 'state' : 'derived'
        return [`${word} ${member.name.text}${this.annotation(member.type)} = `, this.expression(member.value)]
      }
      case 'Effect': {
        const { dependencies } = member
        const names = dependencies === null ? '' : ` depends_on(${dependencies.map(({ text }) => text).join(', ')})`
        return [`effect${names}: `, this.expression(member.body)]
      }
      case 'Lifecycle':
        return [`on ${member.moment}: `, this.expression(member.body)]
      case 'View':
        return this.#view(member.root)
      default:
        return this.statement(member)
    }
  }

  #view(root: Expression): Doc {
    const isMarkup = root.kind === 'ElementFragment' || (root.kind === 'Element' && root.syntax === 'jsx')
    const printed = this.expression(root)
    return isMarkup ? group(['view:', indent([line, printed])]) : ['view: ', printed]
  }

  #style({ form, rules, end }: StyleBlock): Doc {
    const printed = this.braces(rules, end, rule => [
      `.${rule.className.text} `,
      this.braces(rule.properties, rule.end, ({ name, value }) => `${name.text}: ${this.string(value)}`)
    ])
    return [`${form} `, printed]
  }

  #route(entry: RouteEntry | RouteFallback): Doc {
    if (entry.kind === 'RouteFallback') return `${entry.moment}: ${entry.component.text}`
    const { path, component, options, children, end } = entry
    const printedOptions = options.map(({ key, value }) => `${key.text}: ${value.text}`).join(', ')
    const head = `${this.string(path)} to ${component.text}${printedOptions === '' ? '' : ` with (${printedOptions})`}`
    return children.length === 0 ? head : [head, ' ', this.braces(children, end, child => this.#route(child))]
  }

  #url(node: UrlDeclaration): Doc {
    const entries = this.braces(node.entries, node.end, ({ name, params }) => {
      const printedParams = params.map(
        each => `${each.isOptional ? '?' : ''}${each.name.text}: ${this.type(each.type)}`
      )
      return printedParams.length === 0 ? name.text : `${name.text}(${printedParams.join(', ')})`
    })
    return [this.prefix(node), `url ${node.name.text} `, entries]
  }

  #stateMachine(node: StateMachine): Doc {
    const items = this.braces(node.items, node.end, item => this.#machineItem(item))
    return [this.prefix(node), node.isPartial ? 'partial ' : '', `state_machine ${node.name.text} `, items]
  }

  #machineItem(item: MachineState | Transition): Doc {
    if (item.kind === 'MachineState') {
      const params = item.params.length === 0 ? '' : this.params(item.params, item.end)
      return [item.isTerminal ? 'terminal ' : '', `state ${item.name.text}`, params]
    }
    const params = item.params.length === 0 ? '' : this.params(item.params, item.from.start)
    const from = [` from ${item.from.text}`, this.#arguments(item.fromArgs, item.target.start)]
    return [
      `on ${item.event.text}`,
      params,
      from,
      ` -> ${item.target.text}`,
      this.#arguments(item.targetArgs, item.end)
    ]
  }

  #arguments(args: readonly Expression[] | null, end: number): Doc {
    return args === null ? '' : this.list('(', args, ')', end, each => this.expression(each))
  }

  #form(node: Form): Doc {
    const items = this.braces(node.items, node.end, item => {
      if (item.kind === 'FormSubmit') return `on_submit: ${item.handler.text}`
      if (item.kind === 'FormRedirect') return ['success_redirect: ', this.string(item.path)]
      const rules = item.rules.map((rule): Doc => [` ${rule.name.text}`, this.#arguments(rule.args, item.end)])
      return [`field ${item.name.text}: ${this.type(item.type)}`, rules]
    })
    return ['@form', hardline, this.prefix(node), `${node.name.text} `, items]
  }

  #appHook(node: AppHook): Doc {
    const entries = this.braces(node.entries, node.end, ({ name, value }) => [`${name.text}: `, this.expression(value)])
    return [this.prefix(node), `@${node.hook}${node.name === null ? '' : ` ${node.name.text}`} `, entries]
  }
}
