// Shifts the clock of a process, so that pictures show the same times on every day. SVC_CLOCK_SHIFT_MS has the shift.
const shift = Number(process.env.SVC_CLOCK_SHIFT_MS)
const Actual = Date
globalThis.Date = class Date extends Actual {
  constructor(...given) {
    if (given.length === 0) super(Actual.now() + shift)
    else super(...given)
  }

  static now() {
    return Actual.now() + shift
  }
}
