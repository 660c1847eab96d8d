// Checks mutants of right programs: one typed expression of each is replaced by a value of a type that its place does
// not take. Prints the survivors, which the checker accepts, and exits with 1 if they are more than 0.1 %.
//
//   node --import tsx --conditions=svc-source tools/mutate-programs.ts [--mutants 20000] [--first 1]
//
// All mutants of the corpus come first, then 20 of each generated program. `--first` is the seed of the first one.
import { parseArgs } from 'node:util'
import { corpusMutants, generatedMutants } from '../test/language/mutants.ts'

const MAX_SURVIVING_SHARE = 0.001
const MUTANTS_PER_PROGRAM = 20

const { values } = parseArgs({
  options: { mutants: { type: 'string', default: '20000' }, first: { type: 'string', default: '1' } }
})
const wanted = Number(values.mutants)
const corpus = corpusMutants({ every: 1 })
const programs = Math.ceil(Math.max(0, wanted - corpus.count) / MUTANTS_PER_PROGRAM)
const generated = generatedMutants({ first: Number(values.first), programs, each: MUTANTS_PER_PROGRAM })
const survivors = [...corpus.survivors, ...generated.survivors]
const count = corpus.count + generated.count
for (const { place, text } of survivors) console.log(`survivor, ${place}: ${text}`)
for (const problem of generated.problems) console.log(problem)
console.log(
  `${count} mutants, ${survivors.length} survivors; ${programs} generated programs, ${generated.problems.length} problems`
)
if (survivors.length / count > MAX_SURVIVING_SHARE || generated.problems.length > 0) process.exitCode = 1
