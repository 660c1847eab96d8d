import { BRANCH, CALL, IDENTIFIER, LOOP } from '../engine/grammars.ts'
import type { SourceFile, Syntax } from '../engine/source-file.ts'
import { CODE_RULES as R } from './code-rules.ts'

const HTTP_CALL: Readonly<Record<string, RegExp>> = {
  script: /^(?:fetch|axios(?:\.(?:get|post|put|patch|delete|request))?|got(?:\.\w+)?)$/,
  rust: /^reqwest::(?:blocking::)?get$/
}
const HAS_TIMEOUT = /\b(?:signal|timeout|deadline)\b/i
const PARSES =
  /^(?:JSON\.parse|json\.loads?|RegExp|re\.compile|Regex::new|yaml\.(?:safe_)?load|toml\.(?:loads|parse)|serde_json::from_str|YAML\.parse)$/
const QUERIES =
  /(?:^|\.)(?:query|execute|executemany|fetchone|fetchall|findOne|findUnique|findById|query_row|fetch_one)$/
const QUERY_OWNER =
  /(?:^|\.)(?:db|database|conn|connection|cursor|cur|session|client|pool|tx|store|prisma(?:\.\w+)?|repo|repository|sqlx)\./i
const BLOCKS: Readonly<Record<string, RegExp>> = {
  script:
    /(?:^|\.)(?:readFileSync|writeFileSync|appendFileSync|execSync|execFileSync|spawnSync|statSync|readdirSync|existsSync|copyFileSync|rmSync|mkdirSync)$|^Atomics\.wait$/,
  python:
    /^(?:time\.sleep|requests\.(?:get|post|put|patch|delete|head|request)|urllib\.request\.urlopen|urlopen|subprocess\.(?:run|call|check_output|check_call)|os\.system|socket\.create_connection|input)$/,
  rust: /^(?:(?:std::)?thread::sleep|(?:std::)?fs::(?:read|write|read_to_string|read_dir|copy|remove_file|metadata)|reqwest::blocking::\w+)$/
}
const READS_WHOLE = /(?:^|\.)(?:readFileSync|readFile)$/

interface Call {
  readonly node: number
  readonly callee: string
  readonly calleeStart: number
  readonly isBare: boolean
}

/** Runs the rules that read the syntax tree. */
export function runTreeRules(file: SourceFile): void {
  const { syntax } = file
  if (syntax === null) return
  const calls = callsOf(file, syntax)
  judgeCalls(file, syntax, calls)
  judgeLoops(file, syntax)
  judgeBranches(file, syntax)
  judgeNames(file, syntax, calls)
  if (file.language.id === 'python') judgeRoutes(file)
}

function callsOf(file: SourceFile, { tree, names }: Syntax): readonly Call[] {
  const { flags } = names.types
  const calls: Call[] = []
  for (let node = 0; node < tree.count; node++) {
    if (((flags[tree.type[node] as number] as number) & CALL) === 0) continue
    const callee = tree.firstChild[node] as number
    if (callee < 0) continue
    const start = tree.start[callee] as number
    const end = tree.end[callee] as number
    if (end - start > 200) continue
    const isBare = ((flags[tree.type[callee] as number] as number) & IDENTIFIER) !== 0
    calls.push({ node, callee: file.text.slice(start, end), calleeStart: start, isBare })
  }
  return calls
}

function judgeCalls(file: SourceFile, { tree, ancestry, functionNodes }: Syntax, calls: readonly Call[]): void {
  const { language, text } = file
  const kind = language.id === 'python' || language.id === 'rust' ? language.id : 'script'
  const asyncNodes = new Set(functionNodes.filter((_, at) => file.functions[at]?.isAsync === true))
  const isRust = language.id === 'rust'
  for (const { node, callee, calleeStart } of calls) {
    const inTest = file.isTest || ancestry.inTest[node] === 1
    const loops = ancestry.loops[node] as number
    const where = ancestry.inFunction[node] as number
    if (inTest) continue
    if (where >= 0 && asyncNodes.has(where) && BLOCKS[kind]?.test(callee) === true && file.applies(R.blockingInAsync))
      file.report(R.blockingInAsync, calleeStart, `${callee} blocks the event loop inside of an async function`)
    if (
      loops > 0 &&
      PARSES.test(callee) &&
      file.applies(R.repeatedParsing) &&
      hasConstantArguments(file, node, callee, where)
    )
      file.report(R.repeatedParsing, calleeStart, `${callee} runs in each turn of the loop with the same argument`)
    if (loops > 0 && QUERIES.test(callee) && QUERY_OWNER.test(callee) && file.applies(R.queryInLoop))
      file.report(R.queryInLoop, calleeStart, `${callee} runs in each turn of the loop`)
    if (
      HTTP_CALL[kind]?.test(callee) === true &&
      file.applies(R.httpTimeout) &&
      mayWaitForever(text.slice(calleeStart, tree.end[node]))
    )
      file.report(R.httpTimeout, calleeStart, `${callee} may wait for ever`)
    if (kind === 'script' && READS_WHOLE.test(callee) && where >= 0 && file.applies(R.unboundedRead))
      file.report(R.unboundedRead, calleeStart, `${callee} reads the whole file into memory, whatever its size`)
    if (isRust) judgeRustCall(file, callee, calleeStart, text.slice(tree.start[node], tree.end[node]))
  }
}

function judgeRustCall(file: SourceFile, callee: string, at: number, call: string): void {
  const method = /\.\s*(unwrap|expect)$/.exec(callee)
  if (method !== null) {
    const offset = at + callee.length - (method[1] as string).length
    if (method[1] === 'unwrap' && /\.unwrap\s*\(\s*\)$/.test(call) && file.applies(R.unwrapCall))
      file.report(R.unwrapCall, offset, 'unwrap() panics on None and on errors')
    if (method[1] === 'expect' && file.applies(R.expectCall))
      file.report(R.expectCall, offset, 'expect() panics on None and on errors')
  } else if (callee === 'panic' && file.applies(R.panicCall)) file.report(R.panicCall, at, 'panic!() ends the thread')
}

/** True if no argument of a request names a time limit, and none may hold one: a variable, or a copied object. */
function mayWaitForever(call: string): boolean {
  return !HAS_TIMEOUT.test(call) && !/\.\.\.|,\s*[\w.$]+\s*\)$/.test(call)
}

/** True if the call's first argument cannot differ between two turns: a literal, or a parameter that is not assigned. */
function hasConstantArguments(file: SourceFile, node: number, callee: string, inFunction: number): boolean {
  const { tree, functionNodes } = file.syntax as Syntax
  const call = file.text.slice(tree.start[node], Math.min(tree.end[node] as number, (tree.start[node] as number) + 400))
  const argument = /^\s*\(\s*([\s\S]*)/.exec(call.slice(call.indexOf(callee) + callee.length))?.[1] ?? ''
  if (/^(?:[rb]?(["'])[^"'\n]*\1|r#*"[^"\n]*"#*|`[^`$]*`|\/[^\n]+\/[a-z]*)\s*[,)]/.test(argument)) return true
  const name = /^(\w+)\s*[,)]/.exec(argument)?.[1]
  const owner = file.functions[functionNodes.indexOf(inFunction)]
  if (name === undefined || owner?.parameters.includes(name) !== true) return false
  const body = file.views.code.slice(owner.body.start, owner.body.end)
  const assigns = `\\b${name}\\s*[-+*/|&?]{0,2}=(?!=)|\\b(?:for|let|var|const|as)\\b[^=;\\n]*\\b${name}\\b`
  return !new RegExp(assigns).test(body)
}

function judgeLoops(file: SourceFile, { tree, names, ancestry }: Syntax): void {
  if (file.isTest || !file.applies(R.nestedLoops)) return
  const { flags } = names.types
  for (let node = 0; node < tree.count; node++) {
    const isLoop = ((flags[tree.type[node] as number] as number) & LOOP) !== 0
    if (isLoop && ancestry.loops[node] === 2 && ancestry.inTest[node] === 0)
      file.report(R.nestedLoops, tree.start[node] as number, 'the loop is inside of two others')
  }
}

function judgeBranches(file: SourceFile, syntax: Syntax): void {
  const { tree, names, ancestry } = syntax
  const { flags } = names.types
  const condition = names.types.fieldId('condition')
  const consequence = names.types.fieldId('consequence')
  const alternative = names.types.fieldId('alternative')
  const chained = new Set<number>()
  for (let node = 0; node < tree.count; node++) {
    if (((flags[tree.type[node] as number] as number) & BRANCH) === 0) continue
    if (ancestry.inTest[node] === 1 || file.isTest) continue
    let test = ''
    let then = -1
    let otherwise = -1
    for (let child = tree.firstChild[node] as number; child >= 0; child = tree.nextSibling[child] as number) {
      if (tree.field[child] === condition) test = textOf(file, child, 200)
      else if (tree.field[child] === consequence) then = child
      else if (tree.field[child] === alternative && otherwise < 0) otherwise = child
    }
    if (then >= 0 && file.applies(R.conditionalStub)) {
      if (/^\(?\s*(?:true|false|True|False|0|1)\s*\)?$/.test(test))
        file.report(
          R.conditionalStub,
          tree.start[node] as number,
          `the condition is always ${/true|1/i.test(test) ? 'true' : 'false'}`
        )
      else if (otherwise < 0 && isNothing(file, then))
        file.report(R.conditionalStub, tree.start[node] as number, 'the branch does nothing')
      else if (otherwise >= 0 && sameEffect(file, then, otherwise))
        file.report(R.conditionalStub, tree.start[node] as number, 'both branches do the same')
    }
    if (!chained.has(node) && file.applies(R.stringEnum)) judgeTexts(file, node)
    if (otherwise >= 0)
      for (
        let inner = otherwise;
        inner < tree.count && (tree.start[inner] as number) < (tree.end[otherwise] as number);
        inner++
      ) {
        if (((flags[tree.type[inner] as number] as number) & BRANCH) !== 0) chained.add(inner)
        if (inner - otherwise > 2) break
      }
  }
}

/** Reports chains of comparisons of one expression with at least three texts. */
function judgeTexts(file: SourceFile, node: number): void {
  if (file.language.id === 'rust') return
  const text = textOf(file, node, 2_000)
  const compared = /^if\s*\(?\s*([\w.$[\]]{1,60})\s*={2,3}\s*["'][^"'\n]{1,40}["']/.exec(text)?.[1]
  if (compared === undefined) return
  const pattern = new RegExp(
    `(?:else\\s+if|elif)\\s*\\(?\\s*${compared.replaceAll(/[.$[\]]/g, '\\$&')}\\s*={2,3}\\s*["'][^"'\\n]{1,40}["']`,
    'g'
  )
  if ((text.match(pattern)?.length ?? 0) >= 2)
    file.report(
      R.stringEnum,
      (file.syntax as Syntax).tree.start[node] as number,
      `${compared} is compared with at least three texts`
    )
}

/** True for a block without a statement and without a comment, and for `pass`. */
function isNothing(file: SourceFile, node: number): boolean {
  const { tree, names } = file.syntax as Syntax
  const inside = textOf(file, node, 400).trim()
  if (/^(?:\{\s*\}|pass|\.\.\.|;)$/.test(inside)) return true
  const child = tree.firstChild[node] as number
  if (child < 0 || !names.block.has(tree.type[node] as number)) return false
  const isAllMarkers =
    /^\{?\s*(?:(?:\/\/|#)[^\n]*\b(?:TODO|FIXME|implement|nothing yet)\b[^\n]*\s*)+(?:pass\s*)?\}?$/i.test(inside)
  return isAllMarkers
}

function sameEffect(file: SourceFile, then: number, otherwise: number): boolean {
  const inner = (node: number) =>
    textOf(file, node, 400)
      .replace(/^else\s*:?\s*/, '')
      .replace(/^\{\s*|\s*\}$/g, '')
      .trim()
  const [one, other] = [inner(then), inner(otherwise)]
  return one === other && one.length > 3 && one.length < 390
}

/** Names that a language or its usual hosts provide. */
const KNOWN: Readonly<Record<string, ReadonlySet<string>>> = {
  script: new Set(
    (
      'require import super Array ArrayBuffer AggregateError BigInt BigInt64Array BigUint64Array Boolean DataView Date Error EvalError FinalizationRegistry Float32Array Float64Array Function Infinity Int16Array Int32Array Int8Array Intl JSON Map Math NaN Number Object Promise Proxy RangeError ReferenceError Reflect RegExp Set SharedArrayBuffer String Symbol SyntaxError TypeError URIError Uint16Array Uint32Array Uint8Array Uint8ClampedArray WeakMap WeakRef WeakSet Iterator ' +
      'decodeURI decodeURIComponent encodeURI encodeURIComponent escape unescape eval isFinite isNaN parseFloat parseInt structuredClone queueMicrotask setTimeout setInterval setImmediate clearTimeout clearInterval clearImmediate fetch atob btoa ' +
      'AbortController AbortSignal Blob BroadcastChannel Buffer ByteLengthQueuingStrategy CompressionStream CountQueuingStrategy CustomEvent DecompressionStream DOMException DOMParser Event EventSource EventTarget File FileReader FormData Headers MessageChannel MessageEvent MutationObserver Option Image Audio Path2D IntersectionObserver PerformanceObserver ResizeObserver ReadableStream Request Response TextDecoder TextDecoderStream TextEncoder TextEncoderStream TransformStream URL URLSearchParams WebSocket Worker WritableStream XMLHttpRequest XMLSerializer Notification CSSStyleSheet KeyboardEvent MouseEvent PointerEvent StorageEvent DOMRect Float16Array SharedWorker WebAssembly ' +
      'alert confirm prompt requestAnimationFrame cancelAnimationFrame requestIdleCallback cancelIdleCallback getComputedStyle matchMedia postMessage addEventListener removeEventListener dispatchEvent scrollTo scrollBy open close focus blur importScripts getSelection reportError ' +
      'describe it test expect beforeEach afterEach beforeAll afterAll before after suite vi jest cy define gtag'
    ).split(/\s+/)
  ),
  python: new Set(
    (
      'abs aiter all anext any ascii bin bool breakpoint bytearray bytes callable chr classmethod compile complex delattr dict dir divmod enumerate eval exec exit filter float format frozenset getattr globals hasattr hash help hex id input int isinstance issubclass iter len list locals map max memoryview min next object oct open ord pow print property quit range repr reversed round set setattr slice sorted staticmethod str sum super tuple type vars zip __import__ __build_class__ reveal_type copyright credits license unicode xrange raw_input unichr basestring long reduce reload execfile cmp file ' +
      'ArithmeticError AssertionError AttributeError BaseException BaseExceptionGroup BlockingIOError BrokenPipeError BufferError BytesWarning ChildProcessError ConnectionAbortedError ConnectionError ConnectionRefusedError ConnectionResetError DeprecationWarning EOFError EncodingWarning EnvironmentError Exception ExceptionGroup FileExistsError FileNotFoundError FloatingPointError FutureWarning GeneratorExit IOError ImportError ImportWarning IndentationError IndexError InterruptedError IsADirectoryError KeyError KeyboardInterrupt LookupError MemoryError ModuleNotFoundError NameError NotADirectoryError NotImplementedError OSError OverflowError PendingDeprecationWarning PermissionError ProcessLookupError PythonFinalizationError RecursionError ReferenceError ResourceWarning RuntimeError RuntimeWarning StopAsyncIteration StopIteration SyntaxError SyntaxWarning SystemError SystemExit TabError TimeoutError TypeError UnboundLocalError UnicodeDecodeError UnicodeEncodeError UnicodeError UnicodeTranslateError UnicodeWarning UserWarning ValueError Warning WindowsError ZeroDivisionError _ ' +
      'get_ipython display'
    ).split(/\s+/)
  ),
  rust: new Set('Some None Ok Err Box Vec String drop Default Rc Arc Self self super crate'.split(' '))
}

const WILDCARD: Readonly<Record<string, RegExp>> = {
  python: /^\s*from\s+[\w.]+\s+import\s+\*|\bexec\s*\(|\bglobals\(\)\s*\[/m,
  rust: /\buse\s+[\w:{}, \n]*\*|\bmacro_rules!|#\[macro_use\]|\binclude!/
}

function judgeNames(file: SourceFile, syntax: Syntax, calls: readonly Call[]): void {
  const wantsCalls = file.applies(R.unresolved) && calls.some(call => call.isBare)
  const wantsFunctions = file.applies(R.declaredNotCalled)
  if (!wantsCalls && !wantsFunctions) return
  const { tree, names, functionNodes } = syntax
  const kind = file.language.id === 'python' || file.language.id === 'rust' ? file.language.id : 'script'
  // A file with a syntax error may hide declarations; a script without imports may use names of other scripts.
  if (tree.hasError || WILDCARD[kind]?.test(file.views.code) === true) return
  if (kind === 'script' && !/^\s*(?:import|export)\b/m.test(file.views.code)) return
  const callees = new Set(calls.filter(call => call.isBare).map(call => call.calleeStart))
  const mentioned = new Map<string, number>()
  const { flags } = names.types
  const attribute = names.types.fieldId('attribute')
  for (let node = 0; node < tree.count; node++) {
    if (((flags[tree.type[node] as number] as number) & IDENTIFIER) === 0) continue
    if (attribute !== 0 && tree.field[node] === attribute) continue
    const start = tree.start[node] as number
    if (callees.has(start)) continue
    const name = file.text.slice(start, tree.end[node])
    mentioned.set(name, (mentioned.get(name) ?? 0) + 1)
  }
  const known = KNOWN[kind] as ReadonlySet<string>
  const called = new Set<string>()
  const macro = names.types.ids('macro_invocation')
  for (const { node, callee, calleeStart, isBare } of calls) {
    if (!isBare) continue
    called.add(callee)
    if (!wantsCalls || macro.has(tree.type[node] as number)) continue
    if (!mentioned.has(callee) && !known.has(callee) && !(kind === 'rust' && /^[A-Z]/.test(callee)))
      file.report(R.unresolved, calleeStart, `${callee} is neither declared nor imported`)
  }
  if (!wantsFunctions || file.isTest) return
  for (const [at, fact] of file.functions.entries()) {
    const { name, isExported, isMethod, isTest, isExpression } = fact
    if (name === '' || isMethod || isTest || called.has(name) || (mentioned.get(name) ?? 0) > 1) continue
    if (
      kind === 'script'
        ? isExpression || isExported
        : kind === 'python'
          ? !/^_[a-z]/.test(name) || isExported
          : isExported || name === 'main'
    )
      continue
    if (/@|#\[|\bextern\b|\bdeclare\b/.test(fact.header)) continue
    const node = functionNodes[at] as number
    const above = tree.parent[node] as number
    // Functions of blocks in `impl`, `trait` and nested scopes have other callers.
    if (kind !== 'script' && (tree.parent[above] as number) >= 0) continue
    if (isMentionedInText(file, name)) continue
    file.report(R.declaredNotCalled, fact.at, `nothing in the file uses ${name}, and it is not exported`)
  }
}

/** True if a string or a macro of the file mentions the name. */
function isMentionedInText(file: SourceFile, name: string): boolean {
  let seen = 0
  for (
    let at = file.views.source.indexOf(name);
    at >= 0 && seen < 2;
    at = file.views.source.indexOf(name, at + name.length)
  ) {
    const before = file.text[at - 1] ?? ' '
    const after = file.text[at + name.length] ?? ' '
    if (!/[\w$]/.test(before) && !/[\w$]/.test(after)) seen += 1
  }
  return seen >= 2
}

const ROUTE = /@(?:\w+\.)?(?:route|get|post|put|patch|delete)\s*\(\s*(?:[rf]?["']\/|["']\/)/
const CHECKED =
  /\b(?:login_required|auth\w*|require[sd]?_\w+|permission\w*|jwt_\w+|token_required|Depends|Security|public\w*|allow_any\w*|no_auth\w*|csrf_exempt|roles?_\w+|current_user|verify\w*)\b/i
const OPEN =
  /["']\/?(?:health\w*|ready|live|ping|metrics|status|login|logout|signin|signup|register|static|favicon|docs|openapi|version)\b/i

/** Reports routes of Flask and FastAPI in files in which other routes have a check. */
function judgeRoutes(file: SourceFile): void {
  if (
    !file.applies(R.endpointAuth) ||
    file.isTest ||
    !/@(?:\w+\.)?(?:route|get|post|put|patch|delete)\(/.test(file.views.source)
  )
    return
  if (/\b(?:before_request|dependencies\s*=|LoginManager|add_middleware)\b/.test(file.views.code)) return
  for (const fact of file.functions) {
    if (!ROUTE.test(fact.header) || OPEN.test(fact.header)) continue
    const changes = /\.(?:post|put|patch|delete)\s*\(|methods\s*=\s*[[(][^\])]*(?:POST|PUT|PATCH|DELETE)/i.test(
      fact.header
    )
    if (changes && !CHECKED.test(fact.header))
      file.report(R.endpointAuth, fact.at, `the route of ${fact.name} changes data and has no access check`)
  }
}

function textOf(file: SourceFile, node: number, limit: number): string {
  const { tree } = file.syntax as Syntax
  const start = tree.start[node] as number
  return file.text.slice(start, Math.min(tree.end[node] as number, start + limit))
}
