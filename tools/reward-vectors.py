"""Computes the test vectors of the reward formula from its written rules, independently of the TypeScript sources.

    python3 tools/reward-vectors.py > plugins/reward/test/fixtures/vectors.json

The rules are those of docs/reward.md, and the base values those of the specification. The output depends on nothing else, so a second run writes the same bytes.
"""
import itertools
import json
import math
import random
from datetime import date, timedelta

rng = random.Random(20261127)

# ---- rules -----------------------------------------------------------------------------------------------------------

ROWS = """
task_completed=50,5 task_started=5,1 task_submitted=8,1 task_failed=0 task_doubted=10,2 task_resolved=20,4
agent_spawned=25,2 agent_retired=10,0 agent_idle=0 agent_busy=2,0
snapshot_captured=30,6 operation_undone=5,0 operation_redone=5,0 conflict_resolved=100,20,10
plan_handoff=40,8 agent_handoff_accepted=50,10 peer_teach_session=500,100,50 message_sent=1,0
pr_merged=200,40,15 code_reviewed=100,20,10 issue_closed=150,30 helped_peer=300,60,20 bounty_completed=1000,200,50
refactor=150,30,5 bug_fix=200,40,8 test_pass=55,10 lint_clean=30,6 doc_added=28,6
build_completed=25,5 build_failed=5,0 check_completed=15,3 check_failed=3,0 test_fail=10,0 fmt_completed=2,0 fmt_applied=2,0
diagnostics_clean=5,1 completion_accepted=1,0 bundle_completed=50,10
build_clean=60,12 build_failed_then_fixed=100,20,3 phoenix_bonus=150,30,5 build_clean_streak_3=200,40,0,S
check_clean_first_try=40,8 test_suite_green=250,50,0,S test_coverage_improved=150,30,7
toestub_violations_fixed=300,60,12 toestub_scan_clean=10,5 stub_check_debt=0
doc_coverage_100_pct=1000,200,100 missing_docs_zero=500,100,40
ai_thumbs_up=20,4 ai_thumbs_down=15,3 ai_example_written=200,40 ai_example_accepted=1000,200,25
populi_corpus_contributed=500,100,15 populi_inference_run=5,1 populi_finetune_epoch=2000,400 mens_flywheel_triggered=200,40,10
vox_example_created=200,40 vox_example_canonical=5000,1000,500 migration_applied=100,20 seed_completed=50,10
web_page_rendered=20,4 v0_import_complete=150,30
openapi_spec_generated=100,20 scheduled_job_ran=40,8 turso_query_executed=10,2 lsp_hover_used=1,0 lsp_completion_used=1,0
mcp_tool_called=15,3 mcp_tool_registered=300,60 pkg_published=1500,300 pkg_installed=20,4
workflow_completed=1200,240 checkpoint_saved=50,10 actor_message_sent=5,1 actor_spawned=60,12
security_review_passed=1500,300,50 perf_regression_caught=800,160,25 unsafe_removed=400,80,15
collegium_created=200,40 collegium_joined=100,20 arena_joined=50,10
continuation_triggered=10,2 cost_incurred=0 scope_violation=0
"""
NOISY = "mcp_tool_called message_sent actor_message_sent build_completed task_submitted lock_acquired lock_released snapshot_captured".split()
MODES = {"balanced": 1.0, "serious": 0.5, "learning": 1.25}
TIERS = {"novice": 0.5, "linked": 1.0, "proven": 1.2, "master": 1.5}
COMBOS = [
    ("virtus_trifecta", ["lint_clean", "test_pass", "snapshot_captured"], 300),
    ("exterminatus", ["bug_fix"] * 3, 3600),
    ("iron_will_recovery", ["test_fail", "test_fail", "test_pass"], 1800),
    ("scribes_fury", ["doc_added"] * 5, 3600),
    ("review_fix_ship_bonus", ["snapshot_captured", "test_pass", "build_clean"], 7200),
]


def table():
    out = {}
    for cell in ROWS.split():
        name, values = cell.split("=")
        parts = values.split(",")
        shield = parts[-1] == "S"
        numbers = [int(each) for each in parts if each != "S"]
        out[name] = (numbers + [0, 0])[:3] + [shield]
    return out


BASE = table()


def fnv1a(text):
    value = 14695981039346656037
    for byte in text.encode("utf-8"):
        value = ((value ^ byte) * 1099511628211) % 2**64
    return value


def keyed(*parts):
    return fnv1a("\x1f".join(parts))


def grind(name, nth):
    first, second = (8, 14) if name in NOISY else (15, 25)
    if nth > 30:
        return 0.0
    return 1.0 if nth <= first else 0.5 if nth <= second else 0.1


def half_up(number):
    return int(math.floor(number + 0.5))


def reward(name, values, mode, experiment, streak, tier, prestige, nth, extra):
    g = grind(name, nth)
    factor = MODES[mode]
    factor *= experiment
    factor *= 1 + 0.02 * min(streak, 25)
    factor *= 1.5 if nth == 1 else 1.0
    factor *= g
    factor *= TIERS[tier]
    factor *= 1 + min(0.05 * prestige, 0.6)
    xp, crystals, lumens, shield = values
    if g == 0:
        return [0, 0, 0, False, 0.0]
    bonus = extra if xp or crystals or lumens else 0
    return [half_up(xp * factor), half_up(crystals * factor) + bonus, half_up(lumens * g), shield, factor]


def needed(level):
    return 25 * (level**2 + level - 2)


def level(xp):
    # (sqrt(9 + 0.16 xp) - 1) / 2 in whole numbers: the largest L with 25 (L^2 + L - 2) <= xp.
    n = (math.isqrt(225 + 4 * xp) - 5) // 10
    while needed(n + 1) <= xp:
        n += 1
    while n > 1 and needed(n) > xp:
        n -= 1
    return n


def energy(amount, since, limit, now):
    ticks = max(0, (now - since) // 300000)
    total = amount + ticks
    if total >= limit:
        return [limit, max(since, now)]
    return [total, since + ticks * 300000]


def streak(days, last, shields, today):
    if not last:
        return [1, today, shields]
    gap = (date.fromisoformat(today) - date.fromisoformat(last)).days
    if gap <= 0:
        return [days, last, shields]
    if gap - 1 > 1 + days // 7:
        if shields == 0:
            return [1, today, 0]
        shields -= 1
    return [days + 1, today, shields]


def combos(events):
    """events: [type, seconds]; returns the combos that each event completes."""
    used = {name: -1 for name, _, _ in COMBOS}
    result = []
    for index, (kind, now) in enumerate(events):
        fired = []
        for name, parts, window in COMBOS:
            if kind not in parts or (name == "iron_will_recovery" and kind != "test_pass"):
                continue
            fresh = [t for at, (t, s) in enumerate(events[: index + 1]) if at > used[name] and now - s <= window]
            if all(fresh.count(part) >= parts.count(part) for part in set(parts)):
                used[name] = index
                fired.append(name)
        result.append(fired)
    return result


def builds(events):
    """Specials of a day's builds."""
    broken, clean, result = False, 0, []
    for kind in events:
        found = []
        if kind == "build_failed":
            broken = True
        else:
            clean += 1
            if broken:
                found.append("phoenix_bonus")
            broken = False
            if clean == 3:
                found.append("build_clean_streak_3")
        result.append(found)
    return result


def gate(emergency, enabled, mode, stored_enabled, stored_mode):
    shown = mode if mode not in (None, "off") else stored_mode or "balanced"
    if emergency or enabled is False or mode == "off":
        return [False, shown]
    if enabled is True or mode is not None:
        return [True, shown]
    return [stored_enabled is not False, shown]


def messages(times, limit):
    """True for each message that is let through: `limit` in 3600 s from the first of a window."""
    start, count, out = None, 0, []
    for at in times:
        if start is None or at - start >= 3600000:
            start, count = at, 0
            if limit == 0:
                start = None
        if count < limit:
            count += 1
            out.append(True)
        else:
            out.append(False)
    return out


# ---- cases -----------------------------------------------------------------------------------------------------------

names = sorted(BASE)
users = ["ada", "local-user", "größe", "李雷", "a b", ""]
texts = ["", "a", "foobar", "svc", "Zoë", "日本語", "x" * 100]


def day(offset):
    return (date(2026, 1, 1) + timedelta(days=offset)).isoformat()


cases = {}
cases["base"] = [[name, BASE[name]] for name in names]
cases["fnv1a"] = [[text, f"{fnv1a(text):016x}"] for text in texts]
cases["fnv1a"] += [[f"key {n}", f"{fnv1a(f'key {n}'):016x}"] for n in range(60)]
cases["learning"] = []
for n in range(150):
    args = [rng.choice(users[:-1]), day(rng.randrange(700)), rng.choice(names)]
    cases["learning"].append([args, keyed(*args) % 4])
cases["grind"] = [[name, nth, grind(name, nth)] for name in ["bug_fix", "mcp_tool_called"] for nth in range(1, 41)]
cases["grind"] += [[name, nth, grind(name, nth)] for name in NOISY for nth in (8, 9, 14, 15, 30, 31)]
cases["reward"] = []
for n in range(700):
    name = names[n % len(names)]
    args = {
        "mode": rng.choice(list(MODES)),
        "experimentFactor": rng.choice([1, 1, 1, 0.5, 1.1, 2, 3.7, 0.001]),
        "streakDays": rng.choice([0, 1, 2, 7, 24, 25, 26, 400]),
        "tier": rng.choice(list(TIERS)),
        "prestige": rng.choice([0, 0, 1, 5, 12, 13, 40]),
        "occurrence": rng.choice([1, 2, 8, 9, 14, 15, 16, 25, 26, 30, 31, 100]),
        "learningCrystals": rng.randrange(4),
    }
    out = reward(name, BASE[name], *args.values())
    cases["reward"].append([name, args, out])
cases["level"] = [[xp, level(xp)] for xp in range(0, 300, 7)]
for n in [2, 3, 4, 5, 10, 50, 99, 100, 199, 200, 201, 1000, 12345, 99999, 1234567]:
    cases["level"] += [[needed(n) + off, level(needed(n) + off)] for off in (-1, 0, 1)]
for n in range(150):
    xp = rng.randrange(10 ** rng.randrange(1, 15))
    cases["level"].append([xp, level(xp)])
cases["needed"] = [[n, needed(n)] for n in list(range(1, 41)) + [100, 200, 1000]]
cases["prestige"] = [[n, 1 + min(0.05 * n, 0.6)] for n in range(20)]
cases["energy"] = []
for n in range(200):
    since, limit = rng.randrange(10**6), rng.choice([100, 105, 200, 1095])
    amount = rng.randrange(limit + 1)
    now = since + rng.choice([0, 299999, 300000, 300001, 900000, 10**8, -5000, rng.randrange(10**7)])
    cases["energy"].append([amount, since, limit, now, energy(amount, since, limit, now)])
cases["streak"] = []
for n in range(60):
    state, at = [0, "", rng.randrange(3)], rng.randrange(300)
    for _ in range(6):
        at += rng.choice([0, 1, 1, 1, 2, 3, 4, 5, 9, 30, -1])
        after = streak(*state, day(at))
        cases["streak"].append([state, day(at), after])
        state = after
        if rng.random() < 0.5:
            state = [rng.choice([6, 7, 13, 14, 21, 70]), *state[1:]]
cases["streakBonus"] = [[n, min(10 * n, 100)] for n in range(0, 15)]
cases["label"] = [[m, e, m if e == "" else m + ":" + e] for m in MODES for e in ["", "b", "autumn 2026", "ü"]]
cases["hintScale"] = []
for text in ["", "a", "b", "ab", "ac", "ü", "日本", "hint-test", "A/B"] + [f"exp {n}" for n in range(60)]:
    even = sum(text.encode("utf-8")) % 2 == 0
    cases["hintScale"].append([text, 1 if text == "" else 0.85 if even else 1.15])
cases["combos"] = []
kinds = sorted({part for _, parts, _ in COMBOS for part in parts})
for n in range(160):
    pool = rng.sample(kinds, rng.choice([2, 3, 4, len(kinds)])) + ["task_started"]
    if n % 4 == 0:
        pool = [rng.choice(COMBOS)[1][0]] + ["test_pass"]
    now, events = 0, []
    for _ in range(rng.choice([6, 10, 14])):
        now += rng.choice([0, 1, 60, 100, 299, 300, 301, 900, 1800, 3600, 3601])
        events.append([rng.choice(pool), now])
    cases["combos"].append([events, combos(events)])
cases["builds"] = []
for n in range(60):
    events = [rng.choice(["build_failed", "build_clean", "build_clean"]) for _ in range(rng.randrange(1, 9))]
    cases["builds"].append([events, builds(events)])
cases["gate"] = []
switches = [(False, True), (None, False, True), (None, "balanced", "serious", "learning", "off")]
for args in itertools.product(*switches, (None, False, True), (None, "serious", "learning")):
    cases["gate"].append([list(args), gate(*args)])
cases["messages"] = []
for n in range(60):
    limit, now, times = rng.choice([0, 1, 2, 12]), 10**12, []
    for _ in range(rng.choice([5, 20, 30])):
        now += rng.choice([1000, 60000, 200000, 300000, 3599999, 3600000])
        times.append(now)
    cases["messages"].append([times, limit, messages(times, limit)])

print("{")
lines = []
for name, values in cases.items():
    body = ",\n".join("  " + json.dumps(value, ensure_ascii=False, separators=(",", ":")) for value in values)
    lines.append(f'"{name}": [\n{body}\n]')
print(",\n".join(lines))
print("}")
