/* A budgeted SVM that learns in the page: the exported C, compiled to WebAssembly. Nothing is sent or fetched. */
(async () => {
  const root = document.querySelector(".playground");
  const embedded = JSON.parse(document.getElementById("playground-data").textContent);
  const bytes = Uint8Array.from(atob(embedded.wasm), letter => letter.charCodeAt(0));
  const { exp, log, pow } = Math;
  const { instance } = await WebAssembly.instantiate(bytes, { env: { exp, log, pow } });
  const c = instance.exports;
  const POLICIES = ["merge", "project", "remove"], WIDTH = 48, KEPT = 200, JUDGED = 300, STEP = 3;
  const COLORS = ["rgb(31, 111, 235)", "rgb(230, 126, 34)", "rgb(46, 160, 67)"];
  const find = (kind, name) => root.querySelector(`[data-${kind}="${name}"]`);
  const canvas = root.querySelector("canvas"), pen = canvas.getContext("2d");
  const picture = document.createElement("canvas");
  picture.width = picture.height = WIDTH;
  const picturePen = picture.getContext("2d"), pixels = picturePen.createImageData(WIDTH, WIDTH);
  let points = [], right = [], n_rows = 0, streams = false, turn = 0, label = 0, cursor = null, changed = true, odd = 0;

  const number = name => Number(find("set", name).value);
  const settings = () => {
    const n = number("classes"), policy = find("set", "policy").value, budget = number("budget");
    const gamma = 2 ** number("gamma"), life = number("life") >= 15 ? Infinity : Math.round(2 ** number("life"));
    const clock = life === Infinity ? 1e15 : -1 / Math.expm1(-Math.log(2) / life);
    return { n, policy, budget, gamma, life, clock, lambda: 1 / (STEP * Math.min(clock, 3000)) };
  };

  /* What the documentation says of float learners of two features. */
  const memory = ({ n, policy, budget }) => {
    const slots = budget + 1, o = n === 2 ? 1 : n;
    const span = policy === "project" ? 16 + 8 * slots * (slots + 2) : 0;
    return Math.ceil((48 + slots * (8 * o + 16 + 16 + 4 * o) + 16 * o + 8 + 4 + span) / 8) * 8;
  };

  /* Begin with the settings, and learn the points that are shown again. */
  const begin = () => {
    const s = settings();
    c.play_begin(2 * POLICIES.indexOf(s.policy) + (s.n - 2), s.budget, s.gamma, s.lambda, s.clock);
    points = points.filter(point => point.label < s.n);
    right = [];
    n_rows = 0;
    for (const point of points) learn(point);
    find("label", "2").disabled = s.n === 2;
    if (label >= s.n) choose(0);
    for (const name of ["budget", "gamma", "life"]) {
      const shown = name === "gamma" ? +s.gamma.toPrecision(3) : name === "life" && s.life === Infinity ? "no end" : s[name];
      find("set", name).parentNode.querySelector(".value").textContent = shown;
    }
    changed = true;
  };
  const learn = ({ x, y, label }) => {
    right.push(c.play_predict(x, y) === label);
    if (right.length > JUDGED) right.shift();
    c.play_learn(x, y, label);
    n_rows += 1;
    changed = true;
  };
  const add = point => {
    points.push(point);
    if (points.length > KEPT) points.shift();
    learn(point);
  };
  /* Arms of a spiral, one for each class; one label in twenty is wrong. */
  const drawn = () => {
    const n = settings().n, x = 2 * Math.random() - 1, y = 2 * Math.random() - 1;
    const arm = (Math.atan2(y, x) + 3 * Math.hypot(x, y) + turn) / (2 * Math.PI);
    const own = Math.floor((arm - Math.floor(arm)) * n) % n;
    return { x, y, label: Math.random() < 0.05 ? (own + 1) % n : own };
  };

  /* Circles of one class at a time: few calls for many circles. */
  const circles = (each, outlined) => {
    for (let label = 0; label < COLORS.length; ++label) {
      pen.beginPath();
      for (const { x, y, r, own } of each) {
        if (own !== label) continue;
        pen.moveTo(x + r, y);
        pen.arc(x, y, r, 0, 7);
      }
      pen.fillStyle = COLORS[label];
      pen.fill();
      if (outlined) pen.stroke();
    }
  };
  /* In a stream each picture has every other line of the map drawn again: that is most of its work. */
  const draw = whole => {
    odd = 1 - odd;
    const map = whole ? c.play_map(0, 1) : c.play_map(odd, 2);
    pixels.data.set(new Uint8Array(c.memory.buffer, map, 4 * WIDTH * WIDTH));
    picturePen.putImageData(pixels, 0, 0);
    const size = canvas.width, place = value => (value + 1) / 2 * size;
    pen.clearRect(0, 0, size, size);
    pen.drawImage(picture, 0, 0, size, size);
    circles(points.map(({ x, y, label }) => ({ x: place(x), y: place(-y), r: 3, own: label })), false);
    const n = c.play_vectors(), table = new Float32Array(c.memory.buffer, c.play_vector_table(), 4 * n), vectors = [];
    for (let k = 0; k < 4 * n; k += 4)
      vectors.push({ x: place(table[k]), y: place(-table[k + 1]), r: 3 + 6 * table[k + 3], own: table[k + 2] });
    pen.lineWidth = 1.5;
    pen.strokeStyle = getComputedStyle(root).getPropertyValue("--ink");
    circles(vectors, true);
    if (cursor) {
      pen.strokeRect(place(cursor.x) - 6, place(-cursor.y) - 6, 12, 12);
    }
    return n;
  };
  const render = (whole = true) => {
    changed = false;
    show(draw(whole));
  };
  const accuracy = () => right.length ? `${(100 * right.filter(Boolean).length / right.length).toFixed(1)} %` : "-";
  const show = n_vectors => {
    const s = settings();
    find("show", "rows").textContent = n_rows;
    find("show", "accuracy").textContent = accuracy();
    find("show", "vectors").textContent = `${n_vectors} of ${s.budget}`;
    find("show", "error").textContent = c.play_gradient_error().toPrecision(3);
    find("show", "bytes").textContent = `${memory(s).toLocaleString("en")} bytes`;
  };

  /* The exported files with the settings at hand, and the model as it is. */
  const exported = file => {
    const s = settings(), own = `${s.policy}${s.n}`, literal = value => /[.e]/.test(`${value}`) ? `${value}` : `${value}.0`;
    const state = Array.from(new Uint8Array(c.memory.buffer, c.play_state(), c.play_save()));
    const constants = {
      KERNEL_GAMMA: `${literal(Math.fround(s.gamma * Math.LOG2E))}f`,
      KERNEL_TWICE_GAMMA: `${literal(Math.fround(2 * s.gamma * Math.LOG2E))}f`,
      EXACT_GAMMA: literal(s.gamma), SCHEDULE_LAMBDA: literal(s.lambda), SCHEDULE_CLOCK: literal(s.clock),
      [`${own.toUpperCase()}_BUDGET`]: s.budget,
    };
    let text = embedded[file][own];
    for (const [name, value] of Object.entries(constants))
      text = text.replace(new RegExp(`(#define ${name}) .*`), `$1 ${value}`);
    text = text.replace(/initial_state\[\d+\] = \{[^}]*\}/, `initial_state[${state.length}] = {${state}}`);
    return text.replace(/budget \d+/, `budget ${s.budget}`).replaceAll(own, "model").replaceAll(own.toUpperCase(), "MODEL");
  };
  const download = file => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([exported(file)], { type: "text/plain" }));
    link.download = file === "headers" ? "model.h" : "model.c";
    link.click();
  };

  const choose = value => {
    label = value;
    for (const button of root.querySelectorAll("[data-label]"))
      button.setAttribute("aria-pressed", String(Number(button.dataset.label) === label));
  };
  const say = () => {
    find("show", "spoken").textContent = `${n_rows} rows learned, ${accuracy()} of the last right.`;
  };
  const actions = {
    stream: button => {
      streams = !streams;
      changed = true;
      button.setAttribute("aria-pressed", String(streams));
      say();
    },
    drift: () => {
      turn += Math.PI / settings().n;
      say();
    },
    reset: () => {
      points = [];
      turn = 0;
      begin();
      render();
      say();
    },
    header: () => download("headers"),
    source: () => download("sources"),
  };
  root.addEventListener("click", ({ target }) => {
    if (target.dataset.label !== undefined) choose(Number(target.dataset.label));
    else if (target.dataset.do) actions[target.dataset.do](target);
  });
  root.addEventListener("input", () => {
    begin();
    render();
  });
  canvas.addEventListener("click", event => {
    const box = canvas.getBoundingClientRect();
    const x = 2 * (event.clientX - box.left) / box.width - 1, y = 1 - 2 * (event.clientY - box.top) / box.height;
    add({ x, y, label });
    render();
  });
  canvas.addEventListener("keydown", event => {
    const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    const key = Number(event.key);
    if (moves[event.key]) {
      const within = value => Math.max(-1, Math.min(1, value));
      const [dx, dy] = moves[event.key], from = cursor || { x: 0, y: 0 };
      cursor = { x: within(from.x + dx / 16), y: within(from.y + dy / 16) };
      render();
      event.preventDefault();
    } else if (key >= 1 && key <= settings().n) {
      add({ ...(cursor || { x: 0, y: 0 }), label: key - 1 });
      render();
      say();
    }
  });

  /* The ink of outlines is that of the theme, which may be chosen after the first picture. */
  const redraw = () => { changed = true; };
  new MutationObserver(redraw).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);

  let n_frames = 0, since = performance.now();
  const frame = now => {
    if (streams) for (let k = 0; k < 10; ++k) add(drawn());
    if (changed) render(!streams);
    n_frames += 1;
    if (now - since > 1000) {
      find("show", "frames").textContent = Math.round(1000 * n_frames / (now - since));
      n_frames = 0;
      since = now;
    }
    requestAnimationFrame(frame);
  };
  begin();
  for (let k = 0; k < 150; ++k) add(drawn()); // something to see
  requestAnimationFrame(frame);
  root.dataset.ready = "yes";
  root.playground = { add, drawn, exported, render, settings };
})();
