import type { TextRule } from './rule.ts'

const SUGGEST = 'write the implementation, or remove the code that needs it'
const REFUSALS = '(?:not (?:yet )?implemented|unimplemented|implement me|todo\\b|tbd\\b)'
/** A refusal at the start of a text, or after its subject: `f is not yet implemented`, `Method not implemented`. */
const REFUSING_TEXT = `(?:(?:[^"'\`\\n]{0,60}(?:\\b(?:is|are|was)|[:–-])\\s+)?\\b${REFUSALS}|[^\\s"'\`]{1,40}\\s+not (?:yet )?implemented)`

/** Rules of the families `stub` and `victory-claim`: what a comment or a statement admits. */
export const STUB_RULES: readonly TextRule[] = [
  {
    id: 'stub/todo',
    name: 'todo!() is left',
    severity: 'error',
    languages: ['rust'],
    in: 'code',
    pattern: /\btodo!\s*[([{]/g,
    needs: ['todo!'],
    message: 'todo!() panics when it is reached',
    suggestion: SUGGEST,
    fixtures: {
      path: 'a.rs',
      hits: ['fn f() { todo!() }', 'fn f() -> u8 {\n    todo!("later")\n}'],
      misses: ['let s = r#"todo!()"#;', '// todo!() was here\nfn f() { g() }']
    }
  },
  {
    id: 'stub/unimplemented',
    name: 'unimplemented!() is left',
    severity: 'error',
    languages: ['rust'],
    in: 'code',
    pattern: /\bunimplemented!\s*[([{]/g,
    needs: ['unimplemented!'],
    message: 'unimplemented!() panics when it is reached',
    suggestion: SUGGEST,
    fixtures: {
      path: 'a.rs',
      hits: ['fn f() { unimplemented!("x") }'],
      misses: ['fn unimplemented() -> bool { true }']
    }
  },
  {
    id: 'stub/panic-not-impl',
    name: 'panic says "not implemented"',
    severity: 'error',
    languages: ['rust'],
    in: 'source',
    pattern: new RegExp(`\\b(?:panic|unreachable|assert)!\\s*\\([^\\n"]{0,40}"[^"\\n]{0,60}\\b${REFUSALS}`, 'gi'),
    needs: ['implement', 'todo', 'tbd'],
    message: 'the panic says that the code is not implemented',
    suggestion: SUGGEST,
    fixtures: {
      path: 'a.rs',
      hits: ['fn f() { panic!("not implemented yet") }'],
      misses: ['fn f() { panic!("index {} is out of range", i) }', 'let s = "panic!(\\"not implemented\\")";']
    }
  },
  {
    id: 'stub/throw-not-implemented',
    name: 'throws "not implemented"',
    severity: 'error',
    languages: ['typescript', 'javascript'],
    in: 'source',
    pattern: new RegExp(
      `\\bthrow\\s+(?:new\\s+)?[\\w.]*\\s*\\(?\\s*["'\`]${REFUSING_TEXT}|\\bthrow\\s+new\\s+(?:[\\w.]+\\.)?NotImplemented(?:Error|Exception)\\b`,
      'gi'
    ),
    needs: ['implement', 'todo', 'tbd'],
    message: 'the error says that the code is not implemented',
    suggestion: SUGGEST,
    fixtures: {
      path: 'a.ts',
      hits: [
        "function f() { throw new Error('not implemented') }",
        "throw new Error('Method not implemented.')",
        "throw new Error('load: not implemented')",
        'throw new Error(`f is not yet implemented`)',
        'throw new Error(\n  "Not implemented"\n)',
        'throw new NotImplementedError()'
      ],
      misses: [
        "throw new Error('not found')",
        "throw new Error('501: the method is unknown or not implemented')",
        'const text = `throw new Error("not implemented")`'
      ]
    }
  },
  {
    id: 'stub/refusal',
    parentId: 'stub/not-implemented-error',
    name: 'raises "not implemented"',
    severity: 'error',
    languages: ['python', 'gdscript', 'vox', 'other'],
    in: 'source',
    pattern: new RegExp(
      `\\b(?:throw\\s+(?:new\\s+)?[\\w.:]*|raise\\s+[\\w.]*|raise|panic|fatalError|die|assert|preconditionFailure|push_error)\\s*\\(?[^\\n"'\`]{0,40}["'\`][^"'\`\\n]{0,60}\\b${REFUSALS}`,
      'gi'
    ),
    needs: ['implement', 'todo', 'tbd'],
    message: 'the failure says that the code is not implemented',
    suggestion: SUGGEST,
    fixtures: {
      path: 'a.go',
      hits: ['func f() { panic("TODO") }', 'func f() { panic("not implemented") }'],
      misses: ['func f() { panic("queue is closed") }']
    }
  },
  {
    id: 'stub/named-refusal',
    parentId: 'stub/not-implemented-error',
    name: 'throws a not-implemented exception',
    severity: 'error',
    languages: ['other'],
    in: 'code',
    pattern: /\b(?:throw|raise)\s+(?:new\s+)?(?:[\w.]+\.)?NotImplemented(?:Error|Exception)\b/g,
    needs: ['notimplemented'],
    message: 'the exception says that the code is not implemented',
    suggestion: SUGGEST,
    fixtures: {
      path: 'a.cs',
      hits: ['int F() { throw new NotImplementedException(); }'],
      misses: ['catch (NotImplementedException e) { }']
    }
  },
  {
    id: 'stub/missing-value',
    parentId: 'stub/todo',
    name: 'placeholder of the standard library',
    severity: 'error',
    languages: ['other'],
    in: 'code',
    pattern: /\bTODO\s*\(|(?<![?\w])\?\?\?(?!\?)/g,
    needs: ['todo', '???'],
    message: 'the placeholder fails when it is reached',
    suggestion: SUGGEST,
    fixtures: {
      path: 'a.kt',
      hits: ['fun f(): Int = TODO("later")'],
      misses: ['fun todos(): Int = 3']
    }
  },
  {
    id: 'stub/elided',
    parentId: 'stub/placeholder',
    name: 'comment in place of code',
    severity: 'error',
    in: 'comment',
    pattern:
      /(?:\.\.\.|…)\s*(?:existing|remaining|other|same|previous|rest of)\b|(?:\.\.\.|…)\s+(?:rest|more)\b|\b(?:your|the|actual|real) (?:code|logic|implementation) (?:goes )?here\b|\b(?:implementation|logic|code) goes here\b|\brest of (?:the |your )?(?:code|implementation|file|function|class|method)s? (?:here|remains|unchanged|stays|is the same|omitted)\b|\bomitted for brevity\b|^\W*(?:implement (?:me|this|here)|to be implemented|stub(?:bed)?(?: implementation)?)\W*$/gi,
    message: 'the comment stands where code is missing',
    suggestion: SUGGEST,
    fixtures: {
      path: 'a.ts',
      hits: [
        '// ... rest of the code ...',
        '/* your code here */',
        'f() // to be implemented',
        '// omitted for brevity'
      ],
      misses: [
        '// Follows the existing code of the parser.',
        '// Says "your code here", and `TODO`, of comments that do.',
        '// The rest of the line is a path.'
      ]
    }
  },
  {
    id: 'stub/placeholder',
    name: 'placeholder word in a comment',
    severity: 'error',
    in: 'comment',
    pattern:
      /\b(?:FIXME|PLACEHOLDER)\b|\bfixme:|\b[Pp]laceholder (?:implementation|for now|until)\b|^\W*[Pp]laceholder\W*$/g,
    message: 'the comment marks unfinished code',
    suggestion: SUGGEST,
    fixtures: {
      path: 'a.py',
      hits: ['x = 1  # FIXME', '# PLACEHOLDER', '# placeholder until the service exists'],
      misses: ['# The placeholder of the input field.', "x = 'FIXME'"]
    }
  },
  {
    id: 'stub/todo-comment',
    name: 'TODO comment',
    severity: 'error',
    in: 'comment',
    pattern: /(?<!\b(?:the|a|each|every|words?|says?)\s)\bTODO\b|\bTODO\b(?=\s?[:(])|\btodo:|@todo\b/g,
    message: 'the comment names work that is left',
    suggestion: 'do the work, or file it where work is planned and remove the comment',
    fixtures: {
      path: 'a.ts',
      hits: ['const a = 1 // TODO: more', '/** @todo check */'],
      misses: [
        "const todos = ['a'] // the list of todos",
        "const text = '// TODO: say so'",
        '// Reads the `TODO` state.',
        '// Prints the word TODO for open entries.'
      ]
    }
  },
  {
    id: 'victory-claim/premature',
    name: 'claim of completion',
    severity: 'warning',
    in: 'comment',
    pattern:
      /\b(?:fully (?:implemented|functional|working|tested)|production[- ]ready|100 ?% (?:complete|working|done|tested)|all tests (?:now )?pass(?:es|ing)?|everything (?:now )?works|(?:is|are) now complete|complete implementation|works perfectly|battle[- ]tested|mission accomplished)\b/gi,
    message: 'the comment claims success instead of describing the code',
    suggestion: 'remove the claim; let tests show it',
    fixtures: {
      path: 'a.ts',
      hits: ['// This is now fully implemented.', '// Production-ready parser', '// 100% complete'],
      misses: ['// Returns 100 % of the rows.', '// The test passes a second argument.', '// Completes the request.']
    }
  },
  {
    id: 'victory-claim/todo-leftover',
    name: 'work that a comment leaves over',
    severity: 'warning',
    in: 'comment',
    pattern:
      /\bTBD\b|\bnot (?:yet )?implemented\b|\b(?:still (?:needs (?:work|to be)|missing|to do)|needs to be (?:done|finished|completed|implemented)|left (?:as an exercise|for later|out for now)|follow[- ]?up needed)\b/gi,
    message: 'the comment admits that work is left',
    suggestion: 'do the work, or file it where work is planned and remove the comment',
    fixtures: {
      path: 'a.ts',
      hits: ['// Error handling still needs work.', '/**\n * It is not implemented on Windows.\n */', '// TBD'],
      misses: ['// What is left of the buffer.', '// Needs a lock.']
    }
  },
  {
    id: 'victory-claim/fixme',
    name: 'known fault in a comment',
    severity: 'warning',
    in: 'comment',
    pattern:
      /\bXXX\b|\bBUG\b(?!\s*\d)|\b(?:[Tt]his is broken|known broken|does(?:n't| not) work (?:yet|properly|correctly)|fix (?:this|me) (?:later|soon|properly))\b/g,
    message: 'the comment names a fault that is not fixed',
    suggestion: 'fix it, or file it where faults are tracked and remove the comment',
    fixtures: {
      path: 'a.ts',
      hits: ['// XXX: wrong for negative numbers', '// fix this later', "// doesn't work yet with tabs"],
      misses: ['// Works around BUG 1234 of the driver.', '// Replaces XXXX by digits.']
    }
  },
  {
    id: 'victory-claim/hack',
    name: 'hack',
    severity: 'info',
    in: 'comment',
    pattern: /\b(?:HACK|KLUDGE|KLUGE)\b|\b(?:ugly|dirty|quick|temporary) hack\b|\bhack:/g,
    message: 'the comment calls the code a hack',
    suggestion: 'say why the code must be as it is, or replace it',
    fixtures: {
      path: 'a.ts',
      hits: ['// HACK: the driver needs two calls', '// a dirty hack'],
      misses: ['// Hackers cannot read it.', "const hack = '1'"]
    }
  },
  {
    id: 'ai-laziness/implement-later-comment',
    name: 'promise to implement later',
    severity: 'warning',
    in: 'comment',
    pattern:
      /\b(?:(?:will|should|can|could|to) be (?:implemented|added|done|handled|replaced) (?:later|soon|in (?:the|a) (?:future|next|later|real))|implement(?:ed)? (?:this )?later|(?:we|I)(?:'ll| will| can| should| must)? (?:implement|add|handle|write|finish) [^.\n]{0,40}\b(?:later|soon)|in a real (?:implementation|application|app|system|world|scenario)|in production,? (?:you|we|this) (?:would|should)|(?:simplified|simplistic|naive|dummy|mock|fake) (?:version|implementation) (?:for now|for demo|for the (?:demo|example))|for now,? (?:just |we(?:'ll| will)? |simply )?(?:return|assume|hard-?code|ignore|skip|use a)|for demonstration purposes|replace (?:this|it) with (?:the )?(?:real|actual)|(?:add|insert|put) (?:the )?(?:real|actual) \w+ here)\b/gi,
    message: 'the comment puts the implementation off',
    suggestion: SUGGEST,
    fixtures: {
      path: 'a.py',
      hits: [
        '# In a real implementation, this would call the API.',
        '# For now, just return an empty list.',
        '# will be implemented later',
        '# We will add the discounts later.'
      ],
      misses: ['# Returns now, for a later call.', '# The value can be replaced.', '# Real numbers only.']
    }
  }
]
