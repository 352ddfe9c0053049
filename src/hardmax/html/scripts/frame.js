// Shows the playground, which the page carries as JSON, in a frame of its own.
const frame = document.createElement("iframe");
frame.title = "The same tokens in the playground: play, drag, change alpha";
frame.style.cssText = "width: 100%; height: min(70rem, 92vh); border: 1px solid #8886; border-radius: 8px;";
frame.srcdoc = JSON.parse(document.getElementById("hardmax-playground").textContent);
document.getElementById("hardmax-frame").append(frame);
