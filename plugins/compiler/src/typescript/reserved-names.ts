import { HELPERS } from './runtime/helpers.ts'

/** Global names that modules of a build use. */
const USED =
  'console crypto undefined document window globalThis useCallback useEffect useMemo useRef useState use_remote'

const WORDS =
  'abstract any arguments as async await boolean break case catch class const continue debugger declare default delete ' +
  'do else enum eval export extends false finally for from function get if implements import in instanceof interface ' +
  'is keyof let module namespace never new null number object of package private protected public readonly require ' +
  'return set static string super switch symbol this throw true try type typeof unknown var void while with yield'

/** Names that variables of a program cannot keep in TypeScript. */
export const RESERVED_NAMES: ReadonlySet<string> = new Set([...`${WORDS} ${USED}`.split(' '), ...HELPERS.keys()])
