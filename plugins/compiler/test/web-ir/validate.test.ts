import t from 'tap'
import { diagnosticCodes } from '#diagnostics'
import { ByteOffsets, CodeLowering, lowerModule } from '#hir'
import { parse } from '#syntax'
import { checkTypes } from '#types'
import { webTreeOf } from '#web'
import { validateWebIr, type WebIr, webIrDocument } from '#web-ir'

const EMPTY: WebIr = {
  dom_nodes: [],
  view_roots: [],
  behavior_nodes: [],
  style_nodes: [],
  route_nodes: [],
  scheduled_jobs: [],
  interop_nodes: [],
  diagnostic_nodes: [],
  spans: { spans: [] },
  version: 'V0_1'
}

const codes = (part: Partial<WebIr>): string[] =>
  validateWebIr({ ir: { ...EMPTY, ...part }, spans: new Map() }).map(({ code }) => code.replace('web_ir_validate.', ''))

const element = (id: number, children: number[]) =>
  ({ Element: { id, tag: 'p', attrs: [], children, span: null } }) as const
const rule = (declarations: readonly (readonly [string, { Raw: string }])[], specificity = [0, 1, 0] as const) =>
  ({ Rule: { selector: { Class: 'a' }, declarations, specificity, span: null } }) as const
const raw = { Raw: 'x' }

const seen = new Set<string>()

/** Invalid parts of a web IR, with the expected codes. */
const CASES: readonly (readonly [part: Partial<WebIr>, codes: readonly string[]])[] = [
  [{ dom_nodes: [element(0, [0])] }, ['dom.id_oob']],
  [{ dom_nodes: [element(0, [7])] }, ['dom.id_oob']],
  [{ dom_nodes: [element(3, [])] }, ['dom.id_oob']],
  [{ view_roots: [['A', 0]] }, ['dom.id_oob']],
  [{ dom_nodes: [element(0, []), element(1, [0])], view_roots: [['A', 1]] }, []],
  [{ dom_nodes: Array(1_000_001).fill({ Text: { content: '', span: null } }) }, ['dom.arena_too_large']],
  [
    {
      dom_nodes: [
        { IslandMount: { island_name: 'A', props: [['data-prop-', '1']], ignored_child_count: 0, span: null } }
      ]
    },
    ['island.empty_prop_key']
  ],
  [
    { behavior_nodes: [{ StateDecl: { name: 'A::b', initial: ' ', optionality: 'Required', span: null } }] },
    ['behavior.required_state_without_initial']
  ],
  [{ behavior_nodes: [{ StateDecl: { name: 'A::b', initial: '', optionality: 'Optional', span: null } }] }, []],
  [{ style_nodes: [rule([])] }, ['style.empty_declarations']],
  [{ style_nodes: [rule([['', raw]])] }, ['style.empty_property']],
  [
    {
      style_nodes: [
        rule([
          ['color', raw],
          ['color', raw]
        ])
      ]
    },
    ['style.duplicate_property_in_rule']
  ],
  [{ style_nodes: [rule([['colour', raw]])] }, ['style.unknown_property']],
  [
    {
      style_nodes: [
        rule([
          ['--any', raw],
          ['-webkit-line-clamp', raw],
          ['margin-inline', raw]
        ])
      ]
    },
    []
  ],
  [
    { style_nodes: [rule([['color', raw]]), rule([['margin', raw]], [0, 2, 0] as never)] },
    ['style.specificity_conflict']
  ],
  [
    {
      route_nodes: [0, 1].map(() => ({
        RouteTree: { routes: [{ id: 'route_0', pattern: '/', meta: { component: 'A' } }], span: null }
      }))
    },
    ['route.duplicate_contract_id']
  ],
  [
    { route_nodes: [0, 1].map(() => ({ LoaderContract: { route_id: 'a', contract: '{}', span: null } })) },
    ['route.duplicate_loader_id']
  ],
  [
    { route_nodes: [{ LoaderContract: { route_id: '', contract: '', span: null } }] },
    ['route.empty_loader_id', 'route.empty_loader_contract']
  ],
  [
    { route_nodes: [{ ServerFnContract: { name: '', export_path: '', signature: '', span: null } }] },
    ['route.empty_server_fn_name', 'route.empty_server_export_path', 'route.empty_server_signature']
  ],
  [
    { route_nodes: [{ MutationContract: { name: '', payload_type: '', span: null } }] },
    ['route.empty_mutation_name', 'route.empty_mutation_payload_type']
  ],
  [{ scheduled_jobs: [{ name: '', interval: '' }] }, ['scheduled.empty_name', 'scheduled.empty_interval']],
  [
    { interop_nodes: [{ ReactComponentRef: { component: '', import_source: '', props: [], span: null } }] },
    ['interop.empty_component', 'interop.empty_import_source']
  ],
  [
    { interop_nodes: [{ ExternalModuleRef: { specifier: '', named: ['a'], span: null } }] },
    ['interop.empty_external_specifier']
  ],
  [
    { interop_nodes: [{ EscapeHatchExpr: { expr: '', reason: '', span: null } }] },
    ['interop.empty_escape_expr', 'interop.empty_escape_reason']
  ]
]

t.test('each inconsistency is reported with its code', t => {
  for (const [part, expected] of CASES) {
    t.same(codes(part), expected)
    for (const code of expected) seen.add(`web_ir_validate.${code}`)
  }
  const all = Object.keys(diagnosticCodes).filter(code => code.startsWith('web_ir_validate.'))
  t.same([...seen].sort(), all.sort())
  t.end()
})

function problems(source: string) {
  const { module } = parse(source)
  const hir = lowerModule(new CodeLowering(checkTypes(module), new ByteOffsets(source)), source)
  return validateWebIr(webIrDocument(module, hir, webTreeOf(module, source, hir)))
}

t.test('a second block of routes is reported at its span', t => {
  const source = 'component A() { view: <p/> }\nroutes { "/" to A }\nroutes { "/b" to A }\n'
  const at = source.lastIndexOf('routes')
  t.match(problems(source), [{ code: 'web_ir_validate.route.duplicate_contract_id', span: { start: at, end: at + 6 } }])
  t.end()
})

t.test('an unknown CSS property is reported at the span of its rule', t => {
  const source = 'component A() { view: <p/> }\nstyle { .a { colour: "red" maxWidth: "1px" } }\n'
  t.match(problems(source), [
    { code: 'web_ir_validate.style.unknown_property', message: /colour/, span: { start: source.indexOf('.a {') } }
  ])
  t.end()
})
