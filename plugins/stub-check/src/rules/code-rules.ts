import type { Rule } from './rule.ts'

const rule = (
  id: string,
  severity: Rule['severity'],
  name: string,
  suggestion: string,
  languages?: Rule['languages']
): Rule => ({ id, severity, name, suggestion, ...(languages === undefined ? {} : { languages }) })

const TREES = ['typescript', 'javascript', 'python', 'rust'] as const
const SCRIPTS = ['typescript', 'javascript'] as const
const WRITE_IT = 'write the implementation, or remove the function'

/** Rules that are code: they read functions, syntax trees or all files together. */
export const CODE_RULES = {
  notImplementedError: rule('stub/not-implemented-error', 'error', 'raises NotImplementedError', WRITE_IT, ['python']),
  ellipsisBody: rule('stub/ellipsis-body', 'error', 'body is an ellipsis', WRITE_IT, ['python']),
  emptyBody: rule(
    'arch/empty_body',
    'warning',
    'empty function',
    'write the body, or say in a comment why it is empty'
  ),
  placeholderReturn: rule('ai-laziness/placeholder-return', 'warning', 'returns a placeholder', WRITE_IT),
  mockNamed: rule(
    'ai-laziness/mock-named-fn',
    'warning',
    'mock outside of tests',
    'move it to the tests, or write and name the real one'
  ),
  customDefault: rule(
    'ai-laziness/custom-type-default-return',
    'warning',
    'returns an empty value of its type',
    WRITE_IT,
    TREES
  ),
  conditionalStub: rule(
    'ai-laziness/conditional-stub',
    'warning',
    'branch without effect',
    'write the branch, or remove the condition',
    TREES
  ),
  assertionOnly: rule(
    'ai-laziness/assertion-only-body',
    'warning',
    'body only asserts',
    'write what the function is for'
  ),
  earlyReturn: rule('ai-laziness/early-return-only', 'warning', 'returns before doing anything', WRITE_IT),
  hollow: rule('skeleton/hollow-fn', 'warning', 'function that only prints', WRITE_IT),
  declaredNotCalled: rule(
    'skeleton/declared-not-called',
    'warning',
    'function that nothing uses',
    'call it, export it or remove it',
    TREES
  ),
  unwired: rule(
    'arch/unwired',
    'warning',
    'module that nothing imports',
    'import it where it belongs, or remove it',
    TREES
  ),
  unresolved: rule('unresolved-ref', 'warning', 'call of an unknown name', 'import or declare the name', [
    ...TREES,
    'vox'
  ]),
  duplicate: rule(
    'dry-violation',
    'warning',
    'duplicated block',
    'move the block into a function that both places call'
  ),
  godObject: rule('arch/god_object', 'error', 'file with too many lines', 'split it by what it is about'),
  sprawl: rule(
    'arch/sprawl',
    'warning',
    'folder with too many files',
    'group the files in folders by what they are about'
  ),
  organization: rule(
    'arch/organization',
    'warning',
    'collection without a subject',
    'move each function to the code that it belongs to'
  ),
  unwrapCall: rule('rust/unwrap-call', 'warning', 'unwrap()', 'handle the error, or return it with ?', ['rust']),
  expectCall: rule('rust/expect-call', 'warning', 'expect()', 'handle the error, or return it with ?', ['rust']),
  panicCall: rule('rust/panic-call', 'warning', 'panic!()', 'return an error', ['rust']),
  stringEnum: rule(
    'stringly-typed-enum',
    'warning',
    'texts instead of an enumeration',
    'declare the values as a type',
    TREES
  ),
  lineEndings: rule(
    'cross-platform/line-endings',
    'warning',
    'line endings',
    'write LF only, and say so in .gitattributes or .editorconfig'
  ),
  endpointAuth: rule(
    'auth/endpoint-missing-decorator',
    'warning',
    'route without an access check',
    'add the access decorator, or one that says that the route is public',
    ['python', 'vox']
  ),
  blockingInAsync: rule(
    'scaling/blocking-in-async',
    'warning',
    'blocking call in an async function',
    'use the asynchronous call',
    TREES
  ),
  nestedLoops: rule('scaling/nested-loops', 'warning', 'three nested loops', 'index the inner data by key', TREES),
  repeatedParsing: rule(
    'scaling/repeated-parsing',
    'warning',
    'parses or compiles the same in a loop',
    'do it once before the loop',
    TREES
  ),
  queryInLoop: rule('scaling/query-in-loop', 'warning', 'query in a loop', 'read all rows with one query', TREES),
  httpTimeout: rule('scaling/http-without-timeout', 'warning', 'HTTP request without time limit', 'pass a time limit', [
    ...SCRIPTS,
    'rust'
  ]),
  unboundedRead: rule(
    'scaling/unbounded-read',
    'info',
    'whole file or body in memory',
    'read it in pieces, or limit its size',
    SCRIPTS
  )
} as const satisfies Readonly<Record<string, Rule>>
