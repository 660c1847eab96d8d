import { STUB_SEVERITIES } from '@svc/contracts'
import { defineOperation, type Handler, t } from '@svc/plugin-sdk'
import type { Checker } from './checker.ts'
import { SCANNED_EXTENSIONS } from './engine/language.ts'
import { stubCheckErrors } from './errors.ts'
import { isAtLeast } from './policy/severity.ts'
import { envelopeOf, envelopeSchema } from './report/envelope.ts'
import { RULES } from './rules/catalog.ts'
import type { ProjectScan } from './scan/project-scan.ts'

const {
  STB_PATH_OUTSIDE,
  STB_PATH_UNREADABLE,
  STB_RULE_UNKNOWN,
  STB_SUPPRESSIONS_INVALID,
  STB_CLOSED,
  STB_THREAD_ENDED
} = stubCheckErrors.specs

export const STUB_CHECK_TOPIC = 'stub-check.findings'

const langs = Object.keys(SCANNED_EXTENSIONS) as [string, ...string[]]

export const scanOperation = defineOperation({
  id: 'stub-check.scan',
  summary: 'Scan source files for placeholders, hazards and copied code',
  description:
    'Use this before you call work complete: it reports unfinished code, generated filler, hard-coded secrets and hazards with file and line. It changes no file.',
  input: t.object({
    path: t.string({ default: '.', minLength: 1, maxLength: 1_000, description: 'File or folder of the project.' }),
    severity: t.enum(STUB_SEVERITIES, { default: 'warning', description: 'Least severity of the returned findings.' }),
    rules: t.array(t.string({ minLength: 1, maxLength: 100 }), {
      default: [],
      maxItems: 100,
      description: 'Ids of rules, or groups such as stub or security. Default: all.'
    }),
    exclude: t.array(t.string({ minLength: 1, maxLength: 200 }), {
      default: [],
      maxItems: 100,
      description: 'Glob patterns of paths to leave out.'
    }),
    langs: t.array(t.enum(langs), { default: [], description: 'File extensions. Default: all that are scanned.' }),
    limit: t.integer({ default: 200, minimum: 1, maximum: 10_000, description: 'Most findings to return.' })
  }),
  output: envelopeSchema,
  errors: {
    STB_PATH_OUTSIDE,
    STB_PATH_UNREADABLE,
    STB_RULE_UNKNOWN,
    STB_SUPPRESSIONS_INVALID,
    STB_CLOSED,
    STB_THREAD_ENDED
  },
  effect: 'read',
  timeoutMs: 300_000,
  concurrency: 2,
  expose: {
    http: { method: 'POST', path: '/api/v2/stub-check/scan' },
    mcp: {
      name: 'svc_stub_check',
      title: 'Check for placeholders',
      lane: 'platform',
      toolsets: ['checks'],
      use: 'Before you complete a task: its gate runs the same check. Syntax errors: svc_validate_file.'
    },
    rpc: true
  }
})

export const rulesOperation = defineOperation({
  id: 'stub-check.rules',
  summary: 'List the rules of the stub check',
  input: t.object({}),
  output: t.object({
    rules: t.array(
      t.object({
        id: t.string(),
        name: t.string(),
        severity: t.enum(STUB_SEVERITIES),
        languages: t.string({ description: 'Languages that the rule applies to.' }),
        suggestion: t.string()
      })
    )
  }),
  effect: 'read',
  expose: {
    http: { method: 'GET', path: '/api/v2/stub-check/rules' },
    rpc: true,
    cli: { command: 'stub-check-rules', view: { rows: 'rules', columns: ['id', 'severity', 'languages', 'name'] } }
  }
})

export function scanHandler(
  checker: Checker,
  version: string,
  scanned: (path: string, scan: ProjectScan) => Promise<void>
): Handler<typeof scanOperation> {
  return async ({ path, severity, rules, exclude, langs: wanted, limit }, call) => {
    const scan = await checker.scan(
      {
        path,
        rules: rules.length === 0 ? null : rules,
        exclude,
        langs: wanted.length === 0 ? null : wanted,
        confined: true
      },
      call.signal,
      (done, total) => call.progress(done, total)
    )
    await scanned(path, scan)
    return envelopeOf(
      scan,
      scan.findings.filter(each => isAtLeast(each.severity, severity)),
      version,
      limit
    )
  }
}

export const rulesHandler: Handler<typeof rulesOperation> = () => ({
  rules: RULES.map(({ id, name, severity, languages, suggestion = '' }) => ({
    id,
    name,
    severity,
    languages: languages === undefined ? 'all' : languages.join(', '),
    suggestion
  }))
})
