import { type Native, native, numberArg } from '../native.ts'
import { compare } from '../operators.ts'
import { Float, type Value } from '../value.ts'

const FUNCTIONS = ['sqrt', 'cbrt', 'exp', 'sin', 'cos', 'tan', 'asin', 'acos', 'atan'] as const
const MORE = { ln: Math.log, log2: Math.log2, log10: Math.log10, floor: Math.floor, ceil: Math.ceil } as const

const real = (calculate: (x: number) => number): Native =>
  native(1, 1, args => new Float(calculate(numberArg(args, 0))))

/** Functions of floats. An int argument is converted to a float. */
export const MATHEMATICS: Readonly<Record<string, Native>> = {
  ...Object.fromEntries(FUNCTIONS.map(name => [`std.math.${name}`, real(Math[name])])),
  ...Object.fromEntries(Object.entries(MORE).map(([name, calculate]) => [`std.math.${name}`, real(calculate)])),
  'std.math.pow': native(2, 2, args => new Float(numberArg(args, 0) ** numberArg(args, 1))),
  'std.math.atan2': native(2, 2, args => new Float(Math.atan2(numberArg(args, 0), numberArg(args, 1)))),
  'std.math.pi': native(0, 0, () => new Float(Math.PI)),
  'std.math.e': native(0, 0, () => new Float(Math.E)),
  'std.math.min': native(2, 2, ([a, b]) => (compare(b as Value, a as Value, -1) < 0 ? (b as Value) : (a as Value))),
  'std.math.max': native(2, 2, ([a, b]) => (compare(b as Value, a as Value, -1) > 0 ? (b as Value) : (a as Value)))
}
