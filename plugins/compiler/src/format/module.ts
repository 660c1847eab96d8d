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
import { printBlock, printExpression, printParams, printStatement, stringText } from './body.ts'
import {
  isApart,
  printBraces,
  printFields,
  printFunction,
  printHandler,
  printHttpRoute,
  printImport,
  printIndex,
  printPrefix,
  printProcedure,
  printStateField,
  printTable,
  printTypeDeclaration
} from './declarations.ts'
import type { Printer } from './printer.ts'
import { annotationText, resultText, typeText } from './types.ts'

export function printModule(p: Printer, { items, end }: Module): Doc {
  const content = p.lines(
    items,
    end,
    item => printDeclaration(p, item),
    (before, after) => isApart(before, after)
  )
  return content.length === 0 ? '' : [content, hardline]
}

function printDeclaration(p: Printer, node: Declaration): Doc {
  switch (node.kind) {
    case 'Import':
      return printImport(p, node.items)
    case 'Type':
      return printTypeDeclaration(p, node)
    case 'Table':
      return printTable(p, node)
    case 'Index':
      return printIndex(p, node)
    case 'Function':
      return printFunction(p, node)
    case 'HttpRoute':
      return printHttpRoute(p, node)
    case 'Actor': {
      const members = printBraces(p, node.members, node.end, member =>
        member.kind === 'Handler' ? printHandler(p, member) : printStateField(p, member)
      )
      const params = node.params === null ? '' : printParams(p, node.params, node.params.at(-1)?.end ?? node.name.end)
      return [printPrefix(p, node), `actor ${node.name.text}`, params, ' ', members]
    }
    case 'Workflow':
    case 'Activity':
      return printProcedure(p, node)
    case 'Agent':
      return printAgent(p, node)
    case 'Environment':
      return printEnvironment(p, node)
    case 'Component':
      return printComponent(p, node)
    case 'Island':
      return ['@island', hardline, printPrefix(p, node), `${node.name.text} `, printProps(p, node)]
    case 'V0': {
      const source = `${node.fromFile ? 'from ' : ''}${stringText(p, node.source)}`
      return [printPrefix(p, node), `@v0 ${source} ${node.name.text} `, printProps(p, node)]
    }
    case 'Routes':
      return [printPrefix(p, node), 'routes ', printBraces(p, node.entries, node.end, entry => printRoute(p, entry))]
    case 'Const':
      return [printPrefix(p, node), printStatement(p, node.statement)]
    case 'ExternFunction': {
      const head = [
        printPrefix(p, node),
        `extern fn ${node.name.text}`,
        printParams(p, node.params, (node.result ?? node.binding).start)
      ]
      return [head, resultText(node.result), ' = ', stringText(p, node.binding)]
    }
    case 'Url':
      return printUrl(p, node)
    case 'StateMachine':
      return printStateMachine(p, node)
    case 'Fragment': {
      const head = [printPrefix(p, node), `fragment ${node.name.text}`, printParams(p, node.params, node.body.start)]
      return [head, ' ', printBraces(p, [node.body], node.end, body => printExpression(p, body))]
    }
    case 'Form':
      return printForm(p, node)
    case 'AppHook':
      return printAppHook(p, node)
    case 'ScriptStatement':
      return printStatement(p, node.statement)
  }
}

function printProps(p: Printer, { name, props, end }: Extract<Declaration, { kind: 'Island' | 'V0' }>): Doc {
  return printFields(p, props, name.end, end)
}

function printAgent(p: Printer, node: Agent): Doc {
  const members = printBraces(p, node.members, node.end, member => {
    switch (member.kind) {
      case 'AgentVersion':
        return `version ${stringText(p, member.version)}`
      case 'Migration':
        return ['migrate from ', stringText(p, member.from), ' ', printBlock(p, member.body)]
      case 'AgentProperty':
        return [`${member.name.text}: `, printExpression(p, member.value)]
      case 'Handler':
        return printHandler(p, member)
      case 'StateField':
        return printStateField(p, member)
    }
  })
  return [printPrefix(p, node), `agent ${node.name.text} `, members]
}

function printEnvironment(p: Printer, node: Environment): Doc {
  const items = printBraces(p, node.items, node.end, item => printEnvironmentItem(p, item))
  return [printPrefix(p, node), `env ${node.name.text} `, items]
}

function printEnvironmentItem(p: Printer, item: EnvironmentItem): Doc {
  if (item.kind === 'EnvironmentCopy') return `copy ${stringText(p, item.from)} to ${stringText(p, item.to)}`
  if (item.kind === 'EnvironmentVariable') return [`env ${item.name.text} = `, printExpression(p, item.value)]
  return [`${item.key} `, printExpression(p, item.value)]
}

function printComponent(p: Printer, node: Component): Doc {
  const { name, params, members, body, styles } = node
  const head = [printPrefix(p, node), `component ${name.text}`, printParams(p, params, body.start), ' ']
  const braces = printBraces(p, members, body.end, each => printMember(p, each))
  return [head, braces, styles.map((each): Doc => [hardline, printStyle(p, each)])]
}

function printMember(p: Printer, member: ComponentMember): Doc {
  switch (member.kind) {
    case 'State':
    case 'Derived': {
      const word = member.kind === 'State' ? 'state' : 'derived'
      return [`${word} ${member.name.text}${annotationText(member.type)} = `, printExpression(p, member.value)]
    }
    case 'Effect': {
      const { dependencies } = member
      const names = dependencies === null ? '' : ` depends_on(${dependencies.map(({ text }) => text).join(', ')})`
      return [`effect${names}: `, printExpression(p, member.body)]
    }
    case 'Lifecycle':
      return [`on ${member.moment}: `, printExpression(p, member.body)]
    case 'View':
      return printView(p, member.root)
    default:
      return printStatement(p, member)
  }
}

function printView(p: Printer, root: Expression): Doc {
  const isMarkup = root.kind === 'ElementFragment' || (root.kind === 'Element' && root.syntax === 'jsx')
  const printed = printExpression(p, root)
  return isMarkup ? group(['view:', indent([line, printed])]) : ['view: ', printed]
}

function printStyle(p: Printer, { form, rules, end }: StyleBlock): Doc {
  const printed = printBraces(p, rules, end, rule => [
    `.${rule.className.text} `,
    printBraces(p, rule.properties, rule.end, ({ name, value }) => `${name.text}: ${stringText(p, value)}`)
  ])
  return [`${form} `, printed]
}

function printRoute(p: Printer, entry: RouteEntry | RouteFallback): Doc {
  if (entry.kind === 'RouteFallback') return `${entry.moment}: ${entry.component.text}`
  const { path, component, options, children, end } = entry
  const printedOptions = options.map(({ key, value }) => `${key.text}: ${value.text}`).join(', ')
  const head = `${stringText(p, path)} to ${component.text}${printedOptions === '' ? '' : ` with (${printedOptions})`}`
  return children.length === 0 ? head : [head, ' ', printBraces(p, children, end, child => printRoute(p, child))]
}

function printUrl(p: Printer, node: UrlDeclaration): Doc {
  const entries = printBraces(p, node.entries, node.end, ({ name, params }) => {
    const printedParams = params.map(each => `${each.isOptional ? '?' : ''}${each.name.text}: ${typeText(each.type)}`)
    return printedParams.length === 0 ? name.text : `${name.text}(${printedParams.join(', ')})`
  })
  return [printPrefix(p, node), `url ${node.name.text} `, entries]
}

function printStateMachine(p: Printer, node: StateMachine): Doc {
  const items = printBraces(p, node.items, node.end, item => printMachineItem(p, item))
  return [printPrefix(p, node), node.isPartial ? 'partial ' : '', `state_machine ${node.name.text} `, items]
}

function printMachineItem(p: Printer, item: MachineState | Transition): Doc {
  if (item.kind === 'MachineState') {
    const params = item.params.length === 0 ? '' : printParams(p, item.params, item.end)
    return [item.isTerminal ? 'terminal ' : '', `state ${item.name.text}`, params]
  }
  const params = item.params.length === 0 ? '' : printParams(p, item.params, item.from.start)
  const from = [` from ${item.from.text}`, printValues(p, item.fromArgs, item.target.start)]
  return [`on ${item.event.text}`, params, from, ` -> ${item.target.text}`, printValues(p, item.targetArgs, item.end)]
}

function printValues(p: Printer, args: readonly Expression[] | null, end: number): Doc {
  return args === null ? '' : p.list('(', args, ')', end, each => printExpression(p, each))
}

function printForm(p: Printer, node: Form): Doc {
  const items = printBraces(p, node.items, node.end, item => {
    if (item.kind === 'FormSubmit') return `on_submit: ${item.handler.text}`
    if (item.kind === 'FormRedirect') return ['success_redirect: ', stringText(p, item.path)]
    const rules = item.rules.map((rule): Doc => [` ${rule.name.text}`, printValues(p, rule.args, item.end)])
    return [`field ${item.name.text}: ${typeText(item.type)}`, rules]
  })
  return ['@form', hardline, printPrefix(p, node), `${node.name.text} `, items]
}

function printAppHook(p: Printer, node: AppHook): Doc {
  const entries = printBraces(p, node.entries, node.end, ({ name, value }) => [
    `${name.text}: `,
    printExpression(p, value)
  ])
  return [printPrefix(p, node), `@${node.hook}${node.name === null ? '' : ` ${node.name.text}`} `, entries]
}
