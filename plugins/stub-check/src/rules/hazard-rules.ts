import { TEST_PATH, type TextRule } from './rule.ts'

/** Rules for single statements: outdated calls, markup in the wrong place, and the simpler hazards of scale. */
export const HAZARD_RULES: readonly TextRule[] = [
  {
    id: 'deprecated-usage/script',
    parentId: 'deprecated-usage',
    name: 'deprecated call',
    severity: 'warning',
    languages: ['typescript', 'javascript'],
    in: 'code',
    pattern:
      /\bnew\s+Buffer\s*\(|\.substr\s*\(|(?<![\w.$])(?:un)?escape\s*\(|\bfs\.exists\s*\(|\burl\.parse\s*\(|\bdocument\.write\s*\(|\.__(?:define|lookup)[GS]etter__\b|\bReactDOM\.render\s*\(|\bcreateCipher\s*\(|\bcomponentWill(?:Mount|ReceiveProps|Update)\b/g,
    needs: [
      'buffer',
      'substr',
      'escape',
      '.exists',
      'url.parse',
      'document.write',
      'etter__',
      'reactdom',
      'createcipher',
      'componentwill'
    ],
    message: 'the call is deprecated',
    suggestion: 'use its successor: Buffer.from, slice, encodeURIComponent, fs.access, new URL and so on',
    fixtures: {
      path: 'a.js',
      hits: ['const b = new Buffer(10)', 'name.substr(0, 2)', 'escape(text)'],
      misses: ['Buffer.from(x)', 'name.substring(0, 2)', 'CSS.escape(text)']
    }
  },
  {
    id: 'deprecated-usage/python',
    parentId: 'deprecated-usage',
    name: 'deprecated call',
    severity: 'warning',
    languages: ['python'],
    in: 'code',
    pattern:
      /\bdatetime\.utc(?:now|fromtimestamp)\s*\(|\blog(?:ger|ging)\.warn\s*\(|\b(?:import|from)\s+(?:imp|distutils|asyncore|asynchat|smtpd|optparse)\b|\bos\.popen\s*\(|\bassertEquals\s*\(|\binspect\.getargspec\s*\(|\bcgi\.escape\s*\(|\bcollections\.(?:Mapping|MutableMapping|Iterable|Callable|Sequence)\b/g,
    needs: [
      'datetime.utc',
      '.warn',
      'imp',
      'distutils',
      'async',
      'smtpd',
      'optparse',
      'popen',
      'assertequals',
      'getargspec',
      'cgi.',
      'collections.'
    ],
    message: 'the call or module is deprecated',
    suggestion: 'use its successor: datetime.now(UTC), logger.warning, importlib, subprocess and so on',
    fixtures: {
      path: 'a.py',
      hits: ['now = datetime.utcnow()', 'logger.warn("x")', 'import imp'],
      misses: ['now = datetime.now(UTC)', 'logger.warning("x")', 'import importlib']
    }
  },
  {
    id: 'deprecated-usage/rust',
    parentId: 'deprecated-usage',
    name: 'deprecated call',
    severity: 'warning',
    languages: ['rust'],
    in: 'code',
    pattern:
      /\bmem::(?:uninitialized|zeroed)\s*(?:::<[^>\n]*>)?\s*\(|(?<![\w!])try!\s*\(|\.trim_(?:left|right)(?:_matches)?\s*\(|\.description\(\)|\bATOMIC_\w+_INIT\b/g,
    needs: ['mem::', 'try!', 'trim_', 'description()', 'atomic_'],
    message: 'the call is deprecated',
    suggestion: 'use its successor: MaybeUninit, the ? operator, trim_start, Display and so on',
    fixtures: {
      path: 'a.rs',
      hits: ['let x: T = mem::uninitialized();', 'let f = try!(open());', 's.trim_left()'],
      misses: ['s.trim_start()', 'let f = open()?;']
    }
  },
  {
    id: 'raw-jsx-leakage/vox',
    parentId: 'raw-jsx-leakage',
    name: 'React code in a program',
    severity: 'warning',
    languages: ['vox'],
    in: 'code',
    pattern: /\bclassName\s*=|\buse(?:State|Effect|Memo|Ref|Callback)\s*\(|\bimport\s+React\b|\bReact\.\w+/g,
    needs: ['classname', 'use', 'react'],
    message: 'the program contains code for React, which the compiler generates',
    suggestion: "use the language's own components and state",
    fixtures: {
      path: 'a.vox',
      hits: ['let [a, b] = useState(0)', '<div className="x">'],
      misses: ['use(state)', '<div class="x">']
    }
  },
  {
    id: 'raw-jsx-leakage/html',
    parentId: 'raw-jsx-leakage',
    name: 'raw HTML in JSX',
    severity: 'warning',
    languages: ['typescript', 'javascript'],
    in: 'code',
    pattern: /\bdangerouslySetInnerHTML\s*=/g,
    needs: ['dangerouslysetinnerhtml'],
    message: 'raw HTML passes the escaping of JSX',
    suggestion: 'render elements, or sanitise the HTML in one named function',
    fixtures: {
      path: 'a.tsx',
      hits: ['const a = <div dangerouslySetInnerHTML={{ __html: text }} />'],
      misses: ['const a = <div>{text}</div>']
    }
  },
  {
    id: 'ai-laziness/conditional-stub',
    name: 'branch without effect',
    severity: 'warning',
    languages: ['gdscript'],
    in: 'code',
    pattern: /(?<=^[ \t]*)(?:el)?if\b[^\n]*:[ \t]*(?:\r?\n[ \t]+)?pass[ \t]*$/gm,
    message: 'the branch does nothing',
    suggestion: 'write the branch, or remove the condition',
    fixtures: {
      path: 'a.gd',
      hits: ['func f(a):\n\tif a > 3:\n\t\tpass\n\treturn a', 'func f(a):\n\tif a: pass\n\treturn a'],
      misses: [
        'func f(a):\n\tif a > 3:\n\t\t# The game waits here.\n\t\tpass\n\treturn a',
        'func f(a):\n\tif a:\n\t\ta += 1'
      ]
    }
  },
  {
    id: 'ai-laziness/conditional-stub',
    name: 'branch without effect',
    severity: 'warning',
    languages: ['vox'],
    in: 'code',
    pattern: /\bif\b[^{}\n]*\{ ?(?:\r?\n[ \t]*)?\}(?!\s*else\b)/g,
    message: 'the branch does nothing',
    suggestion: 'write the branch, or remove the condition',
    fixtures: {
      path: 'a.vox',
      hits: ['fn f(a: bool) to int {\n    if a {\n    }\n    1\n}', 'fn f(a: bool) to int {\n    if a { }\n    1\n}'],
      misses: [
        'fn f(a: bool) to int {\n    if a {\n        // The caller waits.\n    }\n    1\n}',
        'fn f(a: bool) to int {\n    if a { } else { g() }\n    1\n}'
      ]
    }
  },
  {
    id: 'scaling/sql-without-limit',
    name: 'query without LIMIT',
    severity: 'warning',
    in: 'string',
    pattern:
      /^\s*(?:SELECT|select)\s(?!(?:COUNT|SUM|MAX|MIN|AVG|EXISTS|count|sum|max|min|avg|exists|1\b|last_insert))(?:(?!;|\bLIMIT\b|\blimit\b|\bWHERE\b|\bwhere\b|\bFETCH\s+FIRST\b|\bTOP\s*\()[\s\S]){0,2000}\b(?:FROM|from)\s+[\w."`]+(?:(?!;|\bLIMIT\b|\blimit\b|\bWHERE\b|\bwhere\b|\bFETCH\s+FIRST\b)[\s\S]){0,2000}$/g,
    needs: ['select '],
    skipPaths: TEST_PATH,
    message: 'the query returns all rows of the table',
    suggestion: 'add WHERE or LIMIT, and read pages',
    fixtures: {
      path: 'a.py',
      hits: ['db.execute("SELECT * FROM users ORDER BY name")', 'rows = q("select id, name from items")'],
      misses: [
        'q("SELECT * FROM users LIMIT 10")',
        'q("SELECT COUNT(*) FROM users")',
        'q("SELECT a FROM t WHERE id = ?")'
      ]
    }
  },
  {
    id: 'scaling/sleep',
    name: 'fixed sleep',
    severity: 'info',
    languages: ['typescript', 'javascript', 'python', 'rust'],
    in: 'code',
    pattern:
      /\btime\.sleep\s*\(|\bthread::sleep\s*\(|\bAtomics\.wait\s*\(|\bawait\s+(?:sleep|delay)\s*\(\s*[\d_]+\s*\)/g,
    needs: ['sleep', 'delay', 'atomics'],
    skipPaths: TEST_PATH,
    message: 'the code waits for a fixed time',
    suggestion: 'wait for the event itself, with a time limit',
    fixtures: {
      path: 'a.py',
      hits: ['time.sleep(5)'],
      misses: ['asleep(3)', 'timer.wait(event)']
    }
  },
  {
    id: 'scaling/unbounded-read',
    name: 'whole file or body in memory',
    severity: 'info',
    languages: ['python', 'rust'],
    in: 'code',
    pattern: /\.readlines\s*\(\s*\)|\.read_to_(?:end|string)\s*\(|(?<=\bopen\([^()\n]{0,200}\))\.read\(\s*\)/g,
    needs: ['read'],
    skipPaths: TEST_PATH,
    message: 'the whole input is read into memory, whatever its size',
    suggestion: 'read it in pieces, or limit its size',
    fixtures: {
      path: 'a.py',
      hits: ['lines = f.readlines()', 'text = open(path).read()'],
      misses: ['chunk = f.read(4096)', 'for line in f: use(line)']
    }
  },
  {
    id: 'scaling/http-without-timeout',
    name: 'HTTP request without time limit',
    severity: 'warning',
    languages: ['python'],
    in: 'code',
    pattern:
      /\brequests\.(?:get|post|put|patch|delete|head|request)\s*\((?![^\n]*\btimeout\s*=)[^\n]*\)|\burlopen\s*\((?![^\n]*\btimeout\s*=)[^\n,]*\)/g,
    needs: ['requests.', 'urlopen'],
    skipPaths: TEST_PATH,
    message: 'the request may wait for ever',
    suggestion: 'pass timeout=',
    fixtures: {
      path: 'a.py',
      hits: ['r = requests.get(url)', 'r = requests.post(url, json=body)'],
      misses: ['r = requests.get(url, timeout=5)', 'r = session.get(url)']
    }
  }
]
